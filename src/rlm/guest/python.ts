/** What a Python program of a session finds: evaluated in the interpreter before its first turn. */
export const PYTHON_PRELUDE = `
parts = []

def _options(given):
    return {name: value for name, value in given.items() if value is not None}

def lines(first=1, last=None):
    return "\\n".join(context.split("\\n")[first - 1:(first + 99 if last is None else last)])

def chunks(size=20000, overlap=0):
    size = max(1, int(size))
    step = max(1, size - max(0, int(overlap)))
    return [context[at:at + size] for at in range(0, len(context), step)]

def line_chunks(size=20000):
    size, found, at = max(1, int(size)), [], 0
    while at < len(context):
        last = len(context) if at + size >= len(context) else context.rfind("\\n", at, at + size) + 1
        end = last if last > at else min(len(context), at + size)
        found.append(context[at:end])
        at = end
    return found

def grep(pattern, limit=None):
    return tools.grep(pattern=str(pattern), **_options({"limit": limit}))

def rank(query, k=None):
    return tools.rank(query=str(query), **_options({"k": k}))

def outline():
    return tools.outline()

def symbol(name):
    return tools.symbol(name=str(name))

def llm(prompt):
    return tools.llm(prompt=str(prompt))

def llm_batch(prompts):
    return tools.llmBatch(prompts=[str(prompt) for prompt in prompts])

def rlm(task, part=None, schema=None):
    given = {"task": str(task), **_options({"schema": schema})}
    if isinstance(part, dict):
        given.update(start=part["start"], end=part["end"])
    elif part is not None and part != context:
        given["context"] = str(part)
    return tools.rlm(**given)

def budget():
    return tools.budget()

def _tell(name, args):
    # Nobody waits for these: what was refused would be lost without a word.
    def show(done):
        if not done.cancelled() and done.exception() is not None:
            print(f"{name}: {done.exception()}")
    tools[name](args).add_done_callback(show)

def draft(value):
    _tell("draft", {"value": value})

def finish(value, evidence=None):
    _tell("finish", {"value": value, **_options({"evidence": evidence})})
`;

export const PYTHON_ADD = 'parts.append(inputs["text"]); inputs.clear(); None';

export const PYTHON_JOIN = 'context = "".join(parts); parts.clear(); None';
