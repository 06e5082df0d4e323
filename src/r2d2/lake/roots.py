"""From what the user typed to the real folders to look in, each once, and the names of what lies below."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from r2d2.errors import UserError
from r2d2.lake.listing import is_utf8, paths_above, printable
from r2d2.lake.recognise import is_hidden, table_format
from r2d2.stores.local import LocalStore

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")  # two letters at least: C:/ is a path


@dataclass(frozen=True, slots=True)
class Root:
    """One folder, or one file, to look at."""

    path: str  # real
    label: str  # its own name, where it is a table itself
    prefix: str  # what comes before the names of what lies below

    def holds(self, path: str) -> bool:
        """Whether a real path is this root or lies below it."""
        return path == self.path or path.startswith(os.path.join(self.path, ""))


def resolve_roots(spelled: Sequence[str]) -> tuple[Root, ...]:
    """The real roots in the order of their paths, without those that the walk of another one reaches."""
    if not spelled:
        raise UserError("no lake was named", hint="give the path of a folder that holds tables")
    paths = sorted({_real_path(one) for one in spelled})
    tops = [path for path in paths if not _is_reached(path, paths)]
    for path in tops:
        _check_surroundings(path)
    labels = _labels(tops)
    if len(tops) > 1:
        return tuple(Root(path, label, f"{label}/") for path, label in zip(tops, labels, strict=True))
    return (Root(tops[0], _unlike_content(tops[0], labels[0]), ""),)


def printable_uri(uri: str) -> str:
    """The URI without what may be secret: user-info, query, fragment (HAZARDS 38).

    >>> printable_uri("s3://AKIA:a/b+c@bucket/sales?X-Amz-Signature=1")
    's3://bucket/sales'
    """
    scheme, _, rest = uri.partition(":")
    slashes = "/" * (len(rest) - len(rest.lstrip("/")))
    if re.search(r"[?#].*@", rest, re.DOTALL):
        return f"{scheme}:{slashes}…"  # where the secret ends is unknown
    # Up to the last @, for secrets hold slashes; a path with an @ in it loses more than it must.
    public = re.split("[?#]", rest.rpartition("@")[2], maxsplit=1)[0]
    return f"{scheme}:{slashes}{public.lstrip('/')}"


def _real_path(spelled: str) -> str:
    path = _local_path(spelled)
    if not path:
        raise UserError("the name of a lake is empty", hint="give the path of a folder that holds tables")
    try:
        real = os.path.realpath(path, strict=True)
    except ValueError as error:
        raise UserError(f"{path!r} is no path: {error}") from error
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        if missing and os.path.islink(path):
            raise UserError(f"cannot open {printable(path)}: it is a broken link") from error
        raise UserError(
            f"cannot open {printable(path)}: {'no such file or folder' if missing else error.strerror}",
            hint=_near_names(os.path.abspath(path)) if missing else "",
        ) from error
    if not is_utf8(real):
        raise UserError(f"the path {printable(real)} is not UTF-8", hint="rename it, or reach it by another mount")
    return real


def _local_path(spelled: str) -> str:
    """The path that a path or `file:` URI states."""
    if spelled.lower().startswith("file:"):
        return _path_of_file_uri(spelled)
    uri = _URI.match(spelled)
    if uri and not os.path.lexists(spelled):
        raise UserError(
            f"cannot open {printable_uri(spelled)}: {uri.group(1).lower()} is not supported yet",
            hint="mount it or copy it to a local folder, and give that folder's path",
        )
    return spelled


def _path_of_file_uri(uri: str) -> str:
    path = uri.partition(":")[2]
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise UserError(
                f"{printable_uri(uri)} is on another machine",
                hint="write file:///path for a folder of this one",
            )
        path = slash + path
    return unquote(path, errors="surrogateescape")


def _check_surroundings(path: str) -> None:
    """Refuse a part of a table whose log says which of its files count."""
    for folder in paths_above(path):
        signs = ["_delta_log", ".hoodie"]
        if os.path.relpath(path, folder).split(os.sep)[0] == "data":  # where Iceberg keeps its files
            signs.append("metadata")
        names = [name for name in signs if os.path.lexists(os.path.join(folder, name))]
        try:
            found = table_format(folder, names, LocalStore())
        except OSError:
            continue  # nobody reads Iceberg without its metadata
        if found:
            raise UserError(f"{path} lies inside a table: {folder} is {found}", hint=f"{found} is not supported yet")


def _near_names(path: str) -> str:
    """A hint with names near the end of the path that are spelled almost like it."""
    for parent in paths_above(path):
        if os.path.isdir(parent):
            break
        path = parent
    try:
        near = difflib.get_close_matches(os.path.basename(path), os.listdir(parent), n=3)
    except OSError:
        near = []
    if near:
        return "did you mean " + " or ".join(printable(os.path.join(parent, name)) for name in near) + "?"
    return f"the nearest folder that exists is {printable(parent)}"


def _is_reached(path: str, roots: Sequence[str]) -> bool:
    """Whether the walk of another root comes by; it does not enter hidden folders."""
    for folder in paths_above(path):
        if folder in roots:
            return not any(is_hidden(part) for part in os.path.relpath(path, folder).split(os.sep))
    return False


def _labels(paths: Iterable[str]) -> list[str]:
    """The base name of each path, numbered where two are the same."""
    labels: list[str] = []
    for path in paths:
        labels.append(_numbered(os.path.basename(path) or "root", is_taken=labels.__contains__))
    return labels


def _unlike_content(path: str, label: str) -> str:
    """A label that nothing in a lone root shares: names below have no prefix to tell them from it."""
    return _numbered(label, is_taken=lambda name: os.path.lexists(os.path.join(path, name)))


def _numbered(label: str, *, is_taken: Callable[[str], bool]) -> str:
    number, candidate = 1, label
    while is_taken(candidate):
        number += 1
        candidate = f"{label}#{number}"
    return candidate
