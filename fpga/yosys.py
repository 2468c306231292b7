"""Runs yosys: Debian's, which reads fpga/rtl/prim and front, or the one of npm, which reads all through slang.

The one of npm is looked for in STOPBIT_YOSYS_NPM and in build/yosys-npm, where `./dev synth --fetch` puts it.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FETCHED = ROOT / "build/yosys-npm"
PACKAGES = ["node@24", "@yowasp/yosys@0.70.62-dev.1236"]

RUNNER = """
import { readFileSync, writeFileSync } from 'node:fs';
const { runYosys, Exit } = await import(process.argv[4]);
const files = JSON.parse(readFileSync(process.argv[2], 'utf8'));
let log = '', status = 0, out = {};
const decoder = new TextDecoder();
const sink = (bytes) => { if (bytes !== null) log += decoder.decode(bytes, { stream: true }); };
try {
  out = await runYosys(['script.ys'], files, { stdout: sink, stderr: sink });
} catch (error) {
  if (!(error instanceof Exit)) throw error;
  status = error.code;
}
const made = {};  // folders are left out
for (const [name, file] of Object.entries(out)) {
  if (typeof file === 'string' || file instanceof Uint8Array) made[name] = Buffer.from(file).toString('base64');
}
writeFileSync(process.argv[3], JSON.stringify({ status, log, files: made }));
"""


class NotThere(Exception):
    """There is no yosys of that kind."""


def fetch():
    """Installs the yosys of npm. Asks the npm registry."""
    if not shutil.which("npm"):
        raise NotThere("npm is not installed (Debian package: npm)")
    FETCHED.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(FETCHED), *PACKAGES], check=True)


def npm_module():
    for folder in (os.environ.get("STOPBIT_YOSYS_NPM"), FETCHED):
        module = folder and pathlib.Path(folder) / "node_modules/@yowasp/yosys/gen/bundle.js"
        if module and module.is_file():
            return module
    return None


def run(script, files, slang=False, outputs=()):
    """Runs `script` in a folder with `files`, by name. Gives success, log, and the bytes of those `outputs` that are there."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if not slang:
            if not shutil.which("yosys"):
                raise NotThere("yosys is not installed (Debian package: yosys)")
            for name, text in files.items():
                (work / name).write_text(text)
            (work / "script.ys").write_text(script)
            done = subprocess.run(["yosys", "-s", "script.ys"], cwd=work, capture_output=True, text=True, check=False)
            made = {name: (work / name).read_bytes() for name in outputs if (work / name).exists()}
            return done.returncode == 0, done.stdout + done.stderr, made
        module = npm_module()
        if not module:
            raise NotThere("the yosys of npm is not there: `./dev synth --fetch` gets it, or STOPBIT_YOSYS_NPM names its folder")
        own = module.parents[3] / ".bin/node"
        (work / "run.mjs").write_text(RUNNER)
        (work / "files.json").write_text(json.dumps(files | {"script.ys": script}))
        done = subprocess.run([str(own) if own.exists() else "node", str(work / "run.mjs"), str(work / "files.json"),
                               str(work / "out.json"), module.as_uri()], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return False, done.stdout + done.stderr, {}
        out = json.loads((work / "out.json").read_text())
        log = re.sub(r"\x1b\[[0-9;]*m", "", out["log"])
        return out["status"] == 0, log, {name: base64.b64decode(out["files"][name]) for name in outputs if name in out["files"]}


def read_command(paths, top, slang, defines=(), parameters=None, flags=""):
    """The commands that read files, by name only, and set parameters of the top module. `flags` are slang's."""
    names = " ".join(path.name for path in paths)
    macros = " ".join(f"-D{define}" for define in defines)
    if slang:
        values = " ".join(f"-G {key}={value}" for key, value in (parameters or {}).items())
        return f"read_slang --threads 1 --unroll-limit 20000 --allow-use-before-declare {flags} {macros} {values} --top {top} {names}\n"
    values = "".join(f" -set {key} {value}" for key, value in (parameters or {}).items())
    formal = " -formal" if "FORMAL" in defines else ""
    return (f"read_verilog -sv{formal} {macros} {names}\n" + (f"chparam{values} {top}\n" if values else "") +
            f"hierarchy -check -top {top}\n")


def errors(log):
    lines = [line for line in log.splitlines() if "ERROR" in line or re.search(r": error: ", line)]
    # Without an error of its own it was ended by what it runs on: the last words say why.
    last = [line.strip() for line in log.splitlines() if line.strip()][-3:]
    return "; ".join(lines[:2] or ["yosys failed", *last])
