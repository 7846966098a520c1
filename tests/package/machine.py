"""Runs within the container of tests/package/machine, as root: see there."""
import asyncio
import errno
import os
import pathlib
import subprocess
import sys
import time

DEB = "/trial/patchbay.deb"
UNITS = ("patchbay.socket", "patchbay-http.socket")
RATE = 1000  # connections a second, while the service is restarted
failed = 0


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def promise(text, holds, seen=""):
    global failed
    failed += not holds
    print(f"{'holds ' if holds else 'FAILED'} {text}{f': {seen}' if seen else ''}", flush=True)


def active(unit):
    return run("systemctl", "is-active", unit, check=False).stdout.strip() == "active"


def since(unit):
    """The run of a unit that stands: another one once the unit was stopped and started."""
    return run("systemctl", "show", "-P", "InvocationID", unit).stdout.strip()


def echo(hub):
    """Whether an agent answers through the hub."""
    agent = subprocess.Popen(["patchbay", "--hub", hub, "echo", "test-agent"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    agent.stderr.readline()
    answer = run("patchbay", "--hub", hub, "send", "test-agent", "hello", check=False)
    agent.terminate()
    agent.wait()
    return answer.returncode == 0 and "hello" in answer.stdout


PING = b'{"jsonrpc":"2.0","id":1,"method":"hub/ping"}'
PING = b"Content-Length: %d\r\n\r\n" % len(PING) + PING


async def once(seen):
    """One connection, one request, one answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", 7411)
        writer.write(PING)
        answer = await asyncio.wait_for(reader.read(4096), 20)
        seen["answered" if answer else "closed without an answer"] += 1
        writer.close()
    except OSError as error:
        name = errno.errorcode.get(error.errno, type(error).__name__)
        seen[name] = seen.get(name, 0) + 1
    except asyncio.TimeoutError:
        seen["no answer in 20 s"] = seen.get("no answer in 20 s", 0) + 1


async def restart_under_load(times):
    seen = {"answered": 0, "closed without an answer": 0}
    over = asyncio.Event()

    async def load():
        tasks = set()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not over.is_set():
            due += 0.01
            for _ in range(RATE // 100):
                task = asyncio.create_task(once(seen))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.sleep(max(0, due - loop.time()))
        await asyncio.gather(*tasks)

    loading = asyncio.create_task(load())
    for _ in range(times):
        process = await asyncio.create_subprocess_exec("systemctl", "restart", "patchbay.service")
        if await process.wait():
            seen["restart failed"] = seen.get("restart failed", 0) + 1
        await asyncio.sleep(0.5)
    over.set()
    await loading
    return seen


CONF = pathlib.Path("/etc/patchbay/patchbay.conf")
JOURNAL = pathlib.Path("/var/log/patchbay/journal.jsonl")


def says(*command, check=False):
    done = run(*command, check=check)
    return done.stdout + done.stderr


def operate():
    """The commands of router/docs/operate.md, in its order."""
    sample = CONF.read_text()
    checks = run("patchbayd", "--check", "--config", str(CONF), check=False)
    only = all("expected a free" in line for line in checks.stderr.splitlines())
    promise("--check of a service that runs names the addresses in use alone", checks.returncode == 1 and only, "" if only else checks.stderr)
    promise("patchbay stats answers", '"connections"' in says("patchbay", "stats", "--json") or "connections" in says("patchbay", "stats"))
    run("userdel", "friend", check=False)  # of a run before
    run("useradd", "friend")
    asks = ("runuser", "-u", "friend", "--", "patchbay", "--hub", "unix:///run/patchbay/patchbay.sock", "stats")
    promise("the socket is closed to others", run(*asks, check=False).returncode != 0)
    run("adduser", "friend", "patchbay")
    promise("the group's members reach the socket", run(*asks, check=False).returncode == 0)
    token, line = run("patchbay", "token", "new").stdout.splitlines()[:2]
    for name, text in (("users.ini", f"[user lead]\n{line}\nadmin = yes\nregister = *\ncall = *\ndeny-call = forbidden\nsubscribe = *\n"), ("token", token + "\n")):
        pathlib.Path(f"/trial/{name}").write_text(text)
    run("install", "-o", "root", "-g", "patchbay", "-m", "0640", "/trial/hub.pem", "/trial/hub.key", "/trial/users.ini", "/etc/patchbay/")
    CONF.write_text("listen = tls://0.0.0.0:7413\ntls-certificate = /etc/patchbay/hub.pem\ntls-key = /etc/patchbay/hub.key\nusers = /etc/patchbay/users.ini\n"
                    f"audit = {JOURNAL}\nlog = logfmt\n[child cat]\ncommand = cat\nframing = lines\n")
    checks = run("runuser", "-u", "patchbay", "--", "patchbayd", "--check", "--config", str(CONF), check=False)
    promise("the service's user can read what the configuration names", checks.returncode in (0, 1), checks.stderr if checks.returncode == 2 else "")
    promise("a reload names what waits for the next start", run("systemctl", "reload", "patchbay", check=False).returncode == 0)
    run("systemctl", "restart", "patchbay")
    lead = ("patchbay", "--hub", "tls://127.0.0.1:7413", "--token-file", "/trial/token", "--tls-ca", "/trial/hub.pem")
    promise("other machines are served over TLS, by token", run(*lead, "agents", check=False).returncode == 0)
    promise("a child is listed, its log is shown, and it is restarted",
            "cat" in says(*lead, "child", "list") and not run(*lead, "child", "log", "cat", check=False).returncode and not run(*lead, "child", "restart", "cat", check=False).returncode)
    promise("patchbay bench measures the hub", '"cpuUs"' in says(*lead, "bench", "2", "1", "4", "256", "1", "--json"))
    run(*lead, "send", "forbidden", "x", check=False)
    first = JOURNAL.read_text()
    run("logrotate", "-f", "/etc/logrotate.d/patchbay")
    for _ in range(100):
        if JOURNAL.exists():
            break
        time.sleep(0.1)
    run(*lead, "send", "forbidden", "y", check=False)
    rotated = JOURNAL.with_name("journal.jsonl.1").read_text()
    promise("the journal is rotated, and the hub writes the new file", first and rotated == first and "forbidden" in JOURNAL.read_text(), f"{first} {rotated}" if not first or rotated != first else "")
    promise("the journal has the hub's events", "event=child_started" in says("journalctl", "-u", "patchbay", "--since", "-1h", "-o", "cat"))
    promise("warnings are few", "event=listening" not in says("journalctl", "-u", "patchbay", "-p", "warning", "-o", "cat"))
    promise("the number of the process is found", says("systemctl", "show", "-P", "MainPID", "patchbay").strip().isdigit())
    CONF.write_text(sample)
    run("systemctl", "restart", "patchbay")


def main():
    restarts = int(sys.argv[1])
    run("apt-get", "purge", "-y", "patchbay", check=False)  # of a run that was broken off
    promise("apt installs the package", run("apt-get", "install", "-y", DEB, check=False).returncode == 0)
    promise("there are a user and a group", run("id", "patchbay", check=False).returncode == 0)
    for unit in UNITS + ("patchbay.service",):
        promise(f"{unit} is up", active(unit))
    promise("an agent answers over TCP", echo("tcp://127.0.0.1:7411"))
    promise("an agent answers over the Unix socket", echo("unix:///run/patchbay/patchbay.sock"))
    status = run("systemctl", "status", "patchbay", check=False).stdout
    promise("systemctl status shows the hub's own line", "Status:" in status)
    said = run("journalctl", "-b", "-u", "patchbay", "-o", "cat").stdout
    promise("io_uring and the hub's walls stand behind the unit's filter", "epoll" not in said and "wall" not in said, said if "epoll" in said or "wall" in said else "")
    operate()
    began = [since(unit) for unit in UNITS]
    seen = asyncio.run(restart_under_load(restarts))
    promise(f"{restarts} restarts under {RATE} connections a second refuse and reset none",
            set(seen) == {"answered", "closed without an answer"} and seen["closed without an answer"] == 0, str(seen))
    promise("restarts leave the sockets alone", began == [since(unit) for unit in UNITS])
    promise("an upgrade restarts the service", run("apt-get", "install", "-y", "--reinstall", DEB, check=False).returncode == 0 and active("patchbay.service"))
    promise("the upgrade leaves the sockets alone", began == [since(unit) for unit in UNITS])
    promise("a reload keeps the service", run("systemctl", "reload", "patchbay", check=False).returncode == 0 and active("patchbay.service"))
    pathlib.Path("/etc/patchbay/patchbay.conf").write_text("no-such-key = 1\n")
    run("systemctl", "restart", "patchbay", check=False)
    promise("a configuration that can't be used isn't tried again", run("systemctl", "show", "-P", "NRestarts", "patchbay").stdout.strip() == "0" and not active("patchbay.service"))
    errors = run("journalctl", "-b", "-u", "patchbay", "-p", "err", "-o", "cat", check=False).stdout
    promise("the journal has the fault as an error, and nothing of a hub that is well",
            "patchbay.conf:1: no-such-key: expected" in errors and "listening" not in errors, errors)
    run("apt-get", "remove", "-y", "patchbay")
    promise("removing keeps the configuration and the journal's folder", os.path.exists("/etc/patchbay/patchbay.conf") and os.path.isdir("/var/log/patchbay"))
    run("apt-get", "purge", "-y", "patchbay")
    left = [path for path in ("/etc/patchbay", "/var/log/patchbay", "/var/lib/patchbay", "/run/patchbay", "/usr/sbin/patchbayd", "/usr/bin/patchbay",
                              "/lib/systemd/system/patchbay.service", "/etc/logrotate.d/patchbay", "/usr/share/patchbay") if os.path.exists(path)]
    promise("purging leaves nothing", not left, " ".join(left))
    promise("purging leaves the user", run("id", "patchbay", check=False).returncode == 0)
    print("every promise holds" if not failed else f"{failed} promises don't hold", flush=True)


main()
