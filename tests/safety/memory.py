"""A file system in memory that knows what a loss of power would leave: only what was synced is certain.

- A file's content is durable after `sync` of the file; before that any older version, a torn or a zeroed one may be left.
- A name (created, moved, removed) is durable after `sync` of its folder; a move needs both folders. A move is one step:
  it happens or it does not. Everything else that is not synced may be lost, in any combination.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product

from r2d2.safety.errors import Busy
from r2d2.safety.files import FILE, FOLDER, Stat
from r2d2.safety.posix_versions import posix_version


@dataclass
class Node:
    inode: int
    kind: str
    content: bytes = b""
    entries: dict[str, int] = field(default_factory=dict)
    modified_ns: int = 0
    changed_ns: int = 0
    durable: tuple[bytes, int] = (b"", 0)  # content and its time
    versions: list[tuple[bytes, int]] = field(default_factory=list)  # since the last sync
    durable_entries: dict[str, int] = field(default_factory=dict)


@dataclass
class Change:
    """A change of names that is not durable yet: all of it happens, or nothing."""

    steps: tuple[tuple[int, str, int | None], ...]  # folder, name, inode or gone
    waits_for: set[int]  # folders to be synced


def error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


class MemoryFiles:
    def __init__(self, root: str = "/lake") -> None:
        self.root = root
        self.nodes: dict[int, Node] = {1: Node(1, FOLDER)}
        self.changes: list[Change] = []
        self.ticks = 10**9
        self.next_inode = 2
        self.locked: dict[str, str] = {}
        self.names_of: Counter[int] | None = None  # how many names each file has; counted when asked for
        self.above: dict[str, str] = {}  # by name, the folder above the root that holds it

    # --- the Files protocol

    def lies_above(self, name: str) -> str | None:
        return self.above.get(name)

    def stat(self, path: str) -> Stat | None:
        try:
            node = self._node(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if self.names_of is None:
            self.names_of = Counter(inode for other in self.nodes.values() for inode in other.entries.values())
        links = self.names_of[node.inode] if node.kind == FILE else 1
        version = posix_version(7, node.inode, len(node.content), node.modified_ns, node.changed_ns)
        return Stat(node.kind, len(node.content), version, max(node.modified_ns, node.changed_ns), "7", links)

    def names(self, path: str) -> list[str]:
        return sorted(self._folder(path).entries)

    def chunks(self, path: str) -> Iterator[bytes]:
        yield self._file(path, errno.EINVAL).content

    def create(self, path: str, content: Iterable[bytes]) -> None:
        folder, name = self._above(path)
        if name in folder.entries:
            raise error(errno.EEXIST, path)
        node = self._new(FILE)
        self._change(((folder.inode, name, node.inode),))
        self._write(node, b"".join(content))

    def append(self, path: str, content: bytes) -> None:
        node = self._file(path)
        self._write(node, node.content + content)

    def truncate(self, path: str, size_bytes: int) -> None:
        node = self._file(path)
        self._write(node, node.content[:size_bytes].ljust(size_bytes, b"\0"))  # as a disk does beyond the end

    def sync(self, path: str) -> None:
        node = self._node(path)
        if node.kind == FILE:
            node.durable, node.versions = (node.content, node.modified_ns), []
            return
        left = []
        for change in self.changes:
            change.waits_for.discard(node.inode)
            if change.waits_for:
                left.append(change)
            else:
                _set(change, lambda inode: self.nodes[inode].durable_entries)
        self.changes = left

    def make_folder(self, path: str) -> None:
        folder, name = self._above(path)
        if name in folder.entries:
            raise error(errno.EEXIST, path)
        self._change(((folder.inode, name, self._new(FOLDER).inode),))

    def open_as(self, path: str, like: Sequence[str]) -> None:
        """There is nobody else here; but all must be there."""
        for one in (path, *like):
            self._node(one)

    def move(self, source: str, target: str) -> None:
        folder, name = self._above(source)
        other, new_name = self._above(target)
        node = self._node(source)
        if new_name in other.entries:
            raise error(errno.EEXIST, target)
        self._change(((other.inode, new_name, node.inode), (folder.inode, name, None)))
        node.changed_ns = self._tick()

    def unlink(self, path: str) -> None:
        if self._node(path).kind == FOLDER:
            raise error(errno.EISDIR, path)
        folder, name = self._above(path)
        self._change(((folder.inode, name, None),))

    def remove_folder(self, path: str) -> None:
        if self._folder(path).entries:
            raise error(errno.ENOTEMPTY, path)
        folder, name = self._above(path)
        self._change(((folder.inode, name, None),))

    @contextmanager
    def lock(self, path: str, note: str) -> Iterator[None]:
        if path in self.locked:
            raise Busy(f"in use by {self.locked[path]}")
        if self.stat(path) is None:
            self.create(path, ())
        self.locked[path] = note
        try:
            yield
        finally:
            del self.locked[path]

    def lock_holder(self, path: str) -> str | None:
        return self.locked.get(path)

    # --- for tests

    def put(self, path: str, content: bytes) -> None:
        """Write a file as any program would: folders are made, an old file is replaced, nothing is synced."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if self.stat("/".join(parts[:depth])) is None:
                self.make_folder("/".join(parts[:depth]))
        if self.stat(path) is None:
            self.create(path, [content])
        else:
            self._write(self._file(path), content)

    def scribble(self, path: str, content: bytes) -> None:
        """Other bytes of the same size under the same time, as a program can leave them."""
        node = self._file(path)
        modified = node.modified_ns
        self._write(node, content)
        node.modified_ns = modified

    def rot(self, path: str, content: bytes) -> None:
        """Other bytes, as a failing disk leaves them: no time tells."""
        node = self._file(path)
        node.content = content
        node.durable, node.versions = (content, node.modified_ns), []

    def hard_link(self, path: str, new_path: str) -> None:
        """A second name of a file."""
        folder, name = self._above(new_path)
        self._change(((folder.inode, name, self._file(path).inode),))

    def all_durable(self) -> None:
        self.changes = []
        for node in self.nodes.values():
            node.durable, node.versions = (node.content, node.modified_ns), []
            node.durable_entries = dict(node.entries)

    def survivors(self, chance: random.Random, most: int) -> Iterator[MemoryFiles]:
        """File systems that a loss of power right now may leave: all of them if they are few, else a draw."""
        dirty = [node for node in self.nodes.values() if node.kind == FILE and node.versions]
        choices = [[False, True]] * len(self.changes) + [_left_of(node) for node in dirty]
        total = 1
        for options in choices:
            total *= len(options)
        if total <= most:
            picks: Iterable[tuple[object, ...]] = product(*choices)
        else:
            picks = (tuple(chance.choice(options) for options in choices) for _ in range(most))
        for pick in picks:
            kept = [change for change, keep in zip(self.changes, pick, strict=False) if keep]
            contents = {node.inode: left for node, left in zip(dirty, pick[len(self.changes) :], strict=True)}
            yield self._left_with(kept, contents)

    def _left_with(self, kept: list[Change], contents: dict[int, object]) -> MemoryFiles:
        made = MemoryFiles(self.root)
        made.ticks, made.next_inode = self.ticks, self.next_inode
        entries = {inode: dict(node.durable_entries) for inode, node in self.nodes.items()}
        for change in kept:
            _set(change, entries.__getitem__)
        reached, pending = {}, [1]
        while pending:
            inode = pending.pop()
            if inode not in reached:
                old = self.nodes[inode]
                content, modified = contents.get(inode, old.durable)  # type: ignore[misc]
                if inode not in contents and old.kind == FILE and not old.versions:
                    content, modified = old.content, old.modified_ns
                reached[inode] = Node(inode, old.kind, content, entries[inode], modified, old.changed_ns)
                pending += entries[inode].values()
        made.nodes = reached
        made.all_durable()
        return made

    def _tick(self) -> int:
        self.ticks += 1000
        return self.ticks

    def _new(self, kind: str) -> Node:
        node = Node(self.next_inode, kind, modified_ns=self._tick(), changed_ns=self.ticks)
        self.next_inode += 1
        self.nodes[node.inode] = node
        return node

    def _write(self, node: Node, content: bytes) -> None:
        node.content, node.modified_ns = content, self._tick()
        node.changed_ns = node.modified_ns
        node.versions.append((content, node.modified_ns))

    def _change(self, steps: tuple[tuple[int, str, int | None], ...]) -> None:
        self.names_of = None
        change = Change(steps, {folder for folder, _, _ in steps})
        _set(change, lambda inode: self.nodes[inode].entries)
        self.changes.append(change)

    def _node(self, path: str) -> Node:
        node = self.nodes[1]
        for part in path.split("/") if path else ():
            if node.kind != FOLDER:
                raise error(errno.ENOTDIR, path)
            if part not in node.entries:
                raise error(errno.ENOENT, path)
            node = self.nodes[node.entries[part]]
        return node

    def _folder(self, path: str) -> Node:
        node = self._node(path)
        if node.kind != FOLDER:
            raise error(errno.ENOTDIR, path)
        return node

    def _file(self, path: str, otherwise: int = errno.EISDIR) -> Node:
        node = self._node(path)
        if node.kind != FILE:
            raise error(otherwise, path)
        return node

    def _above(self, path: str) -> tuple[Node, str]:
        folder, _, name = path.rpartition("/")
        return self._folder(folder), name


def _set(change: Change, entries_of: Callable[[int], dict[str, int]]) -> None:
    for folder, name, inode in change.steps:
        if inode is None:
            entries_of(folder).pop(name, None)
        else:
            entries_of(folder)[name] = inode


def _left_of(node: Node) -> list[tuple[bytes, int]]:
    """What may be left of a file that was written and not synced."""
    content, modified = node.versions[-1]
    old = node.durable[0]
    common = next((index for index, (one, two) in enumerate(zip(old, content, strict=False)) if one != two), len(old))
    middle = common + (len(content) - common) // 2
    torn, zeroed = content[:middle], content[:middle] + b"\0" * (len(content) - middle)
    holed = content[:common] + b"\0" * (middle - common) + content[middle:]
    options = [node.durable, *node.versions, (torn, modified), (zeroed, modified), (holed, modified)]
    return list(dict.fromkeys(options))
