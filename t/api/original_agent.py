"""The original's agent as our server meets it: its members, its headers, its
clock and its memory.  It runs nothing; `ran` is what it would have run."""
import datetime
import random
import uuid

import requests

IDS_MAX = 1000
TIMEOUT = 30


class Agent:
    def __init__(self, base, token, hostname, service, ids=()):
        self.base, self.hostname, self.service = base, hostname, service
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = "Bearer " + token
        self.received, self.executed = list(ids), list(ids)
        self.last_command_id = None
        self.ran = []
        self.ip_address = "10.1.2.3"

    @staticmethod
    def ids(seed):
        """As many as it remembers."""
        source = random.Random(seed)
        return [str(uuid.UUID(int=source.getrandbits(128), version=4))
                for _ in range(IDS_MAX)]

    def post(self, path, members):
        reply = self.session.post(self.base + "/api/metrics/" + path,
                                  json=members, timeout=TIMEOUT)
        reply.raise_for_status()
        self.sent = len(reply.request.body)
        return reply.json()

    def members(self):
        return {
            "ip_address": self.ip_address,
            "hostname": self.hostname,
            "service_name": self.service,
            "last_command_id": self.last_command_id,
            "status": "active",
            # local time, no zone
            "timestamp": datetime.datetime.now().isoformat(),
            "received_command_ids": self.received,
            "executed_command_ids": self.executed,
        }

    def heartbeat(self):
        """The id and the command that are new to it, or two times None."""
        reply = self.post("heartbeat", self.members())
        command, command_id = reply["profiling_command"], reply["command_id"]
        if not reply["success"] or not command or not command_id:
            return None, None
        if command_id in self.received:
            return None, None
        self.received = (self.received + [command_id])[-IDS_MAX:]
        self.last_command_id = command_id
        return command_id, command

    def complete(self, command_id, status="completed", error=None):
        return self.post("command_completion", {
            "command_id": command_id, "hostname": self.hostname,
            "status": status, "execution_time": 0, "error_message": error,
            "results_path": None})

    def run(self, command_id, command):
        """Begins, and says at once that it is done."""
        self.ran.append((command["command_type"], command["combined_config"]))
        reply = self.complete(command_id)
        self.executed = (self.executed + [command_id])[-IDS_MAX:]
        return reply

    def turn(self):
        """One round of its loop: whether it ran something."""
        command_id, command = self.heartbeat()
        return bool(command_id and self.run(command_id, command)["success"])

    def restarted(self):
        """It knows nothing of what it did."""
        self.session.close()
        token = self.session.headers["Authorization"].split()[1]
        return Agent(self.base, token, self.hostname, self.service)
