"""Acts at random over every name that is obeyed or withheld, for as long as it is told. Says nothing."""

import json
import os
import random
import socket
import stat
import time

plan = json.load(open("plan.json"))
pick = random.Random(plan["seed"])
NAMES = plan["names"]
PAYLOAD = plan["payload"]
FOLDERS = [".", "a", "a/b", "c", "work", "work/deep/er"]


def some_path():
    name = pick.choice(NAMES)
    folder = pick.choice(FOLDERS)
    if pick.random() < 0.3:
        name = os.path.join(name, pick.choice(["config", "hooks/pre-commit", "HEAD", "objects", "refs", "x", "commondir"]))
    return os.path.join(folder, name)


def some_text():
    return pick.choice(PAYLOAD)


def make(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)


def put(path, text, flags):
    # Never waits for the other end of a pipe that lies there.
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | flags, 0o755)
    try:
        os.write(out, text.encode())
    finally:
        os.close(out)


def write():
    path = some_path()
    make(path)
    put(path, some_text(), os.O_TRUNC)


def append():
    put(some_path(), some_text(), os.O_APPEND)


def rename():
    os.rename(some_path(), some_path())


def rename_any():
    entries = os.listdir(".")
    os.rename(pick.choice(entries), some_path())


def link():
    path = some_path()
    make(path)
    os.link(pick.choice(["payload.sh", "a/file.txt"]), path)


def symlink():
    path = some_path()
    make(path)
    os.symlink(pick.choice(plan["targets"]), path)


def fifo():
    path = some_path()
    make(path)
    os.mkfifo(path)


def unlink():
    os.unlink(some_path())


def rmdir():
    os.rmdir(some_path())


def mkdir():
    os.makedirs(some_path())


def truncate():
    os.truncate(some_path(), 0)


def swap():
    one, other, between = some_path(), some_path(), "between"
    os.rename(one, between)
    os.rename(other, one)
    os.rename(between, other)


def repository():
    folder = some_path()
    for name in ("objects", "refs"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", plan["gitConfig"])):
        put(os.path.join(folder, name), text, os.O_TRUNC)


def special():
    os.chmod(some_path(), stat.S_ISUID | 0o755)


def listen():
    path = some_path()
    make(path)
    socket.socket(socket.AF_UNIX).bind(path)


def read():
    source = os.open(some_path(), os.O_RDONLY | os.O_NONBLOCK)
    try:
        content = os.read(source, 1000).decode(errors="replace")
    finally:
        os.close(source)
    if plan["secret"][::-1] in content:
        print(content)


ACTIONS = [write, write, append, rename, rename_any, link, symlink, fifo, unlink, rmdir, mkdir, truncate, swap, repository, repository, special, listen, read]
end = time.monotonic() + plan["seconds"]
while time.monotonic() < end:
    try:
        pick.choice(ACTIONS)()
    except (OSError, ValueError):
        pass
