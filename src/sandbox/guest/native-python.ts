import { MAX_FILE_NAME_CHARS, MAX_FILES, MAX_TOOL_NAME_CHARS } from "./bounds.ts";
import { PYTHON_SURROUNDINGS } from "./python-prelude.ts";

/**
 * What the machine's own Python is started with: it speaks frames over its pipes and runs programs one after the other. The
 * only wall is around the process.
 */
export const NATIVE_PYTHON = `
import base64, stat, struct, tempfile
${PYTHON_SURROUNDINGS}

def _serve(settings):
    frames = os.dup(1)
    # What an extension writes past Python must not look like a frame.
    os.dup2(2, 1)
    sys.path.extend(settings["packages"])

    def post(message):
        data = json.dumps(message).encode()
        data = struct.pack("<I", len(data)) + data
        while data:
            data = data[os.write(frames, data):]

    class Output:
        encoding, errors = "utf-8", "replace"
        left, is_cut, max_call = 0, False, 0
        def write(self, text):
            data = str(text).encode("utf-8", "replace")
            kept = data[:max(0, Output.left)]
            Output.is_cut = Output.is_cut or len(kept) < len(data)
            Output.left -= len(data)
            shown = kept.decode("utf-8", "ignore")
            if shown:
                post({"type": "output", "text": shown})
            return len(text)
        def flush(self): pass
        def isatty(self): return False
        def writable(self): return True

    class Loop(asyncio.SelectorEventLoop):
        """Waits without sockets, which the sandbox does not have: nothing wakes it but its pipe and its timers."""
        def _make_self_pipe(self):
            self._ssock = self._csock = None
        def _close_self_pipe(self): pass
        def _write_to_self(self): pass

    sys.stdout = sys.stderr = Output()
    loop = Loop()
    asyncio.set_event_loop(loop)
    work_folder = tempfile.mkdtemp()
    def send_call(call, name, args):
        if len(args.encode()) <= Output.max_call:
            post({"type": "call", "call": call, "name": name[:${MAX_TOOL_NAME_CHARS}], "args": args})
        else:
            said = "The arguments are larger than %d bytes: send them in parts." % Output.max_call
            # Later, as if the server had said it: the program waits for all calls that have no answer yet.
            loop.call_soon(fail, call, json.dumps({"code": "invalid_args", "message": said, "retryable": False}))
    run, settle, fail = _surround(send_call, work_folder)
    received = bytearray()
    tasks = set()

    sent = {}
    def files(left):
        """Those that are new or changed since the last program, as far as they fit."""
        found, dropped, kept = [], False, {}
        for folder, _, names in os.walk(work_folder):
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    status = os.lstat(path)
                    if not stat.S_ISREG(status.st_mode):
                        continue
                    version = (status.st_size, status.st_mtime_ns)
                    name = os.path.relpath(path, work_folder)
                    if sent.get(name) != version:
                        if status.st_size > left or len(found) == ${MAX_FILES}:
                            dropped = True
                            continue
                        with open(path, "rb") as file:
                            data = file.read(status.st_size)
                        left -= len(data)
                        found.append({"name": name[:${MAX_FILE_NAME_CHARS}], "base64": base64.b64encode(data).decode()})
                    kept[name] = version
                except OSError:
                    dropped = True
        sent.clear()
        sent.update(kept)
        return found, dropped

    async def start(message):
        Output.left, Output.is_cut, Output.max_call = message["maxOutputBytes"], False, message["maxCallBytes"]
        ended = json.loads(await run(message["code"], message["inputs"]))
        left, dropped = files(message["maxFileBytes"])
        if len(ended.get("result", "").encode()) > message["maxResultBytes"]:
            said = "The result is larger than %d bytes: return less, or write it to a file." % message["maxResultBytes"]
            ended = {"error": {"name": "ValueError", "message": said}}
        post({"type": "done", **ended, "outputCut": Output.is_cut, "files": left, "filesCut": dropped})

    def forget(task):
        tasks.discard(task)
        # If we fail ourselves, the server learns it at once, and not when the time of the program is up.
        if task.cancelled() or task.exception() is not None:
            os._exit(1)

    def receive(message):
        if message["type"] == "run":
            task = loop.create_task(start(message))
            tasks.add(task)
            task.add_done_callback(forget)
        elif "value" in message:
            settle(message["call"], message["value"])
        else:
            fail(message["call"], json.dumps(message["failure"]))

    def read():
        data = os.read(0, 65536)
        if not data:
            os._exit(0)
        received.extend(data)
        while len(received) >= 4:
            size = struct.unpack_from("<I", received)[0]
            if len(received) < 4 + size:
                return
            message = json.loads(bytes(received[4:4 + size]))
            del received[:4 + size]
            receive(message)

    loop.add_reader(0, read)
    post({"type": "ready"})
    loop.run_forever()

_serve(json.loads(sys.argv[1]))
`;
