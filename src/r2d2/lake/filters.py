"""Include and exclude: globs on the names of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase


class Patterns:
    """Globs over names, where `*` also matches `/`; what matches a folder matches all below it.

    A pattern that is, letter for letter, a name or folder there is means just that: any name that was printed
    can be given back, though it be `t[1]` (HAZARDS 7).

    >>> patterns = Patterns(["t[1]", "raw/*"], known=["t[1]", "t1", "raw/a"])
    >>> [name for name in ("t[1]", "t1", "raw/a", "raw") if patterns.match(name)]
    ['t[1]', 'raw/a']
    """

    def __init__(self, patterns: Sequence[str], *, known: Iterable[str]) -> None:
        self._patterns = [pattern.rstrip("/") or pattern for pattern in patterns]
        taken = {path for name in known for path in _with_folders(name)} if patterns else set()
        self._literal = {pattern for pattern in self._patterns if pattern in taken}
        self._used: set[str] = set()

    def match(self, name: str) -> bool:
        """Whether any of them matches."""
        hits = {pattern for pattern in self._patterns if self._hits(pattern, name)}
        self._used |= hits
        return bool(hits)

    def match_itself(self, name: str) -> bool:
        """Whether any of them matches this name, rather than a folder above it."""
        hits = {pattern for pattern in self._patterns if pattern == name or fnmatchcase(name, pattern)}
        self._used |= hits
        return bool(hits)

    def may_match_below(self, name: str) -> bool:
        """Whether something below the folder of that name could match."""
        heads = [re.split(r"[*?[]", pattern, maxsplit=1)[0] for pattern in self._patterns]
        return any(head.startswith(f"{name}/") or f"{name}/".startswith(head) for head in heads)

    @property
    def unused(self) -> list[str]:
        """Those that matched nothing so far."""
        return [pattern for pattern in self._patterns if pattern not in self._used]

    def _hits(self, pattern: str, name: str) -> bool:
        if pattern in self._literal:
            return name == pattern or name.startswith(f"{pattern}/")
        return any(fnmatchcase(path, pattern) for path in _with_folders(name))


def _with_folders(name: str) -> Iterator[str]:
    """The name and the folders above it."""
    yield name
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
