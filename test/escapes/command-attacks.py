"""What a program that was allowed tries against everything around it. Reads attack.json, writes out/result.json:
for every attack the word "refused", or what it got. Run outside a sandbox, nearly all of them succeed."""

import ctypes, glob, json, os, platform, resource, signal, socket, struct

plan = json.load(open("attack.json"))
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
arm = platform.machine() == "aarch64"
victim, server = plan["victim"], plan["server"]
secret, outside, home = plan["secret"], plan["outside"], plan["home"]


def call(x86, arm64, *args):
    result = libc.syscall(arm64 if arm else x86, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(65536)


def read_any(*paths):
    """All that can be read of them; refused where that is none."""
    got = []
    for path in paths:
        try:
            got.append(read(path))
        except OSError:
            pass
    if not got:
        raise OSError("refused")
    return b"".join(got)


def through_link(make):
    place = f"out/link-{os.getpid()}"
    make(secret, place)
    try:
        return read(place)
    finally:
        os.unlink(place)


def reopened():
    fd = os.open(secret, os.O_PATH)
    return read(f"/proc/self/fd/{fd}")


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)
        s.send(b"hello")
        return s.recv(100)


def datagram(make, address):
    make().sendto(b"hello", address)
    # It may have gone to a network of our own: only the other side knows.
    raise OSError("unknown")


def pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]


def sigio():
    import fcntl

    r, w = os.pipe()
    fcntl.fcntl(r, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(r, fcntl.F_SETOWN, victim)
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(w, b"x")
    # Newer kernels drop it on its way: only the victim's end tells, and that is not to be seen from here.
    raise OSError("unknown")


def memory_of_victim():
    place = ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(place), 8)
    remote = struct.pack("QQ", plan["address"], 8)
    call(310, 270, victim, local, 1, remote, 1, 0)
    return b"memory read"


def shared_memory():
    """Segments of other processes, by their numbers."""
    shmat = libc.shmat
    shmat.restype = ctypes.c_void_p
    at = shmat(plan["segment"], None, 0o10000)
    if at is None or at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "refused")
    return ctypes.string_at(at, 64)


def descriptors():
    found = []
    for fd in range(3, 256):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    if not found:
        raise OSError("refused")
    return str(found).encode()


def wrote(path, work):
    work(path)
    return b"changed"


def opened(path, flags):
    os.close(os.open(path, flags))
    return b"opened"


ATTACKS = {
    # First, while none is ours.
    "find inherited descriptors": descriptors,
    "read a file": lambda: read(secret),
    "read a file of the home": lambda: read(home),
    "read through a link": lambda: through_link(os.symlink),
    "read through a hard link": lambda: through_link(os.link),
    "read through a descriptor of its place": reopened,
    "read through another process's root": lambda: read_any(f"/proc/{victim}/root{secret}", f"/proc/{server}/root{secret}"),
    "read through another process's folder": lambda: read(f"/proc/{victim}/cwd/secret"),
    "read another process's descriptors": lambda: read_any(*filter(os.path.isfile, glob.glob(f"/proc/{victim}/fd/*"))),
    "read another process's environment": lambda: read(f"/proc/{victim}/environ"),
    "read another process's memory file": lambda: opened(f"/proc/{victim}/mem", os.O_RDONLY),
    "read the server's state": lambda: read_any(".llmc/planted", *glob.glob(".llmc/*/*")),
    "read shared memory files": lambda: read(plan["shm"]),
    "read a withheld file": lambda: need(read("sub/.env")),
    "list the folder outside": lambda: str(os.listdir(outside)).encode(),
    "create a file": lambda: wrote(f"{outside}/new", lambda p: open(p, "w").close()),
    "append to a file": lambda: wrote(secret, lambda p: open(p, "a").write("x")),
    "truncate a file": lambda: wrote(secret, lambda p: os.truncate(p, 5)),
    "truncate a file, opened to read": lambda: opened(secret, os.O_RDONLY | os.O_TRUNC),
    "change a mode": lambda: wrote(secret, lambda p: os.chmod(p, 0o777)),
    "change a time": lambda: wrote(secret, lambda p: os.utime(p, (1, 1))),
    "set an attribute": lambda: wrote(secret, lambda p: os.setxattr(p, "user.x", b"x")),
    "remove a file": lambda: wrote(f"{outside}/spare", os.unlink),
    "rename a file": lambda: wrote(f"{outside}/spare2", lambda p: os.rename(p, f"{outside}/moved")),
    "move a file in": lambda: wrote(f"{outside}/spare3", lambda p: os.rename(p, "out/moved")),
    "make a folder": lambda: wrote(f"{outside}/folder", os.mkdir),
    "change the configuration": lambda: wrote("llmc.toml", lambda p: open(p, "a").write("x")),
    "write a kernel setting": lambda: opened("/proc/sys/kernel/hostname", os.O_WRONLY),
    "open the system's trigger": lambda: opened("/proc/sysrq-trigger", os.O_WRONLY),
    "open the kernel's log": lambda: opened("/dev/kmsg", os.O_RDONLY),
    "connect by TCP": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", plan["tcp"])),
    "send by UDP": lambda: datagram(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), ("127.0.0.1", plan["udp"])),
    "connect to a Unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, plan["unix"]),
    "connect to an abstract socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + plan["abstract"]),
    "send a datagram to a Unix socket": lambda: datagram(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), plan["datagram"]),
    "send a datagram through a pair": lambda: datagram(pair, plan["datagram"]),
    "open a raw socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close() or b"opened",
    "signal another process": lambda: os.kill(victim, signal.SIGWINCH) or b"sent",
    "signal through a descriptor of it": lambda: signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGWINCH) or b"sent",
    "trace another process": lambda: call(101, 117, 0x4206, victim, 0, 0) and None or b"traced",
    "read another process's memory": memory_of_victim,
    "take another process's descriptor": lambda: call(438, 438, os.pidfd_open(victim), 1, 0) and b"taken",
    "lower another process's priority": lambda: os.setpriority(os.PRIO_PROCESS, victim, 5) or b"set",
    "limit another process": lambda: resource.prlimit(victim, resource.RLIMIT_CORE, (0, 0)) and b"set",
    "read a memory segment by its number": shared_memory,
    "read a key of the session": lambda: call(250, 219, 0, -4, 1) and b"found",
    "add a key": lambda: call(248, 217, b"user", b"llmc-test", b"x", 1, -2) and b"added",
    # Last, since it ends the victim where it succeeds.
    "signal through a pipe's owner": sigio,
}


def need(got):
    if not got:
        raise OSError("empty")
    return got


results = {}
for name, attack in ATTACKS.items():
    try:
        got = attack()
        results[name] = "GOT " + repr(got)[:120]
    except OSError:
        results[name] = "refused"
with open("out/result.json", "w") as out:
    json.dump(results, out)
print("attacked", len(results))
