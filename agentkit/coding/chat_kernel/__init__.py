"""A sandboxed Python kernel for a chat, whose state lives from question to question.

`pool.py` is what a chat uses. `kernel.py` runs cells in one kernel, `process.py` holds its two
sandboxes: one runs the code (`in_kernel.py`), the other speaks Jupyter's protocol with it
(`in_client.py`) through a folder of sockets that both see. We read lines of JSON from the second,
which `outputs.py` takes for what code could have sent, and `made_files.py` looks at its folder.
"""
