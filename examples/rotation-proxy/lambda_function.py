"""Rotates the passwords of a database that can only be reached from this network.

The secrets service invokes this function with a signed and encrypted request. The response is
signed and encrypted too, so that AWS logs and other functions can neither read nor forge it. The
format is described in `secrets-core/src/rotators/envelope.rs`; test vectors are in
`tests/vectors/proxy.json`.

Dependencies: `cryptography` (the standard library has no AES-GCM), and `pg8000` for PostgreSQL or
`PyMySQL` for MySQL and MariaDB. Every failure becomes a code from a closed list: the error text of
the database server is neither returned nor logged.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import ssl
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

LIMIT = 16 * 1024
WINDOW = 300  # maximum clock difference in seconds
CONNECT_TIMEOUT = 5
TIMEOUT = 10  # seconds for each query

REQUEST_FIELDS = {
    "v": int, "kid": str, "ts": int, "nonce": str, "config": str, "seq": int, "step": str,
    "ct": str, "sig": str,
}  # fmt: skip
STEPS = ("test", "apply", "verify", "lock")


class Refused(Exception):
    """Error for a request that is not authentic. Its response is not signed; the reason is only logged."""


class Fault(Exception):
    """Failure of a rotation step: an error code that the service knows, and the SQLSTATE if there is one."""

    def __init__(self, code, state=None):
        super().__init__(code)
        self.code = code
        self.state = state


def lambda_handler(event, _context):
    try:
        request, key, asked = open_request(event, secrets(), time.time())
    except Refused as refused:
        print(json.dumps({"refused": str(refused)}))
        return {"refused": True}
    try:
        outcome, content = "ok", perform(request, asked)
    except Fault as fault:
        outcome, content = fault.code, {"state": fault.state} if fault.state else {}
    except Exception as error:  # Its text may contain server messages or a password.
        print(json.dumps({"unforeseen": type(error).__name__}))
        outcome, content = "protocol", {}
    print(json.dumps({"config": request["config"], "step": request["step"], "outcome": outcome}))
    return seal_answer(request, key, outcome, content)


# The envelope.


def secrets():
    """Returns the shared secrets. `SHARED_SECRET` contains one, or two separated by a space while the
    secret is being replaced."""
    return [secret.encode() for secret in os.environ["SHARED_SECRET"].split()]


def derive(secret, info, salt=None):
    return HKDF(SHA256(), 32, salt, info.encode()).derive(secret)


def key_id(secret):
    return derive(secret, "lambda/kid")[:8].hex()


def sign(secret, text):
    return hmac.digest(derive(secret, "lambda/mac"), text.encode(), "sha256").hex()


def digest(*fields):
    return hashlib.sha256(".".join(map(str, fields)).encode()).hexdigest()


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    if not re.fullmatch("[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        raise Refused("encoding")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encode(data) != text:
        raise Refused("encoding")
    return data


_seen = {}  # nonces with their expiry; each instance has its own, so the fence is needed too


def open_request(event, known, now, seen=_seen):
    """Verifies a request, and returns its fields, the shared secret that signed it and its decrypted
    content. Raises `Refused` if the request is not authentic."""
    if not isinstance(event, dict) or event.keys() != REQUEST_FIELDS.keys():
        raise Refused("fields")
    if any(type(event[name]) is not kind for name, kind in REQUEST_FIELDS.items()):
        raise Refused("fields")
    if event["v"] != 1 or event["step"] not in STEPS or len(event["ct"]) > LIMIT:
        raise Refused("fields")
    kid, ts, nonce, config, seq, step, ct = (
        event[name] for name in ("kid", "ts", "nonce", "config", "seq", "step", "ct")
    )
    secret = next((secret for secret in known if key_id(secret) == kid), None)
    if secret is None:
        raise Refused("key")
    signature = sign(secret, f"v1.{ts}.{nonce}.{digest(kid, config, seq, step, ct)}")
    if not hmac.compare_digest(signature.encode(), event["sig"].encode()):
        raise Refused("signature")
    if abs(now - ts) > WINDOW:
        raise Refused("time")
    for old in [old for old, until in seen.items() if until < now]:
        del seen[old]
    if nonce in seen:
        raise Refused("seen")
    seen[nonce] = ts + 2 * WINDOW
    sealed, key = decode(ct), derive(secret, "lambda/enc", decode(nonce))
    try:
        bound = f"v1.{kid}.{ts}.{nonce}.{config}.{seq}.{step}".encode()
        inside = AESGCM(key).decrypt(sealed[:12], sealed[12:], bound)
        return event, secret, json.loads(inside)
    except (InvalidTag, ValueError):
        raise Refused("inside") from None


def seal_answer(request, secret, outcome, content, iv=None):
    nonce, seq, step = request["nonce"], request["seq"], request["step"]
    key, iv = derive(secret, "lambda/enc/answer", decode(nonce)), iv or os.urandom(12)
    bound = f"v1.answer.{nonce}.{seq}.{step}.{outcome}".encode()
    inside = json.dumps(content, separators=(",", ":")).encode()
    ct = encode(iv + AESGCM(key).encrypt(iv, inside, bound))
    sig = sign(secret, f"v1.answer.{nonce}.{digest(seq, step, outcome, ct)}")
    answer = {"v": 1, "nonce": nonce, "seq": seq, "step": step}
    return answer | {"outcome": outcome, "ct": ct, "sig": sig}


# Steps. Each step is idempotent: repeating it with the same arguments changes nothing more.


def perform(request, asked):
    connection = asked["connection"]
    database = {"postgresql": Postgres, "mysql": Mysql}.get(connection["integration"])
    if database is None:
        raise Fault("unsupported")
    target = database(connection)
    for name, form in (("username", NAME), ("group", NAME), ("password", PASSWORD)):
        # Such names never need quoting; they are quoted all the same.
        if name in asked and not re.fullmatch(form, asked[name]):
            raise Fault("protocol")
    try:
        return getattr(target, request["step"])(request, asked) or {}
    finally:
        target.close()


NAME = "[a-z0-9_]{1,32}"
PASSWORD = "[A-Za-z0-9_-]{16,128}"


def tls(connection):
    """Returns the TLS context for the `ssl_mode` of a connection, or None if the mode is `disable`."""
    mode = connection["ssl_mode"]
    if mode == "disable":
        return None
    try:
        context = ssl.create_default_context(cadata=connection.get("ca_certificate"))
    except (ssl.SSLError, ValueError):
        raise Fault("tls_untrusted") from None
    context.check_hostname = mode == "verify-full"
    verifies = mode in ("verify-full", "verify-ca")
    context.verify_mode = ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE
    return context


def connection_fault(error):
    """Converts a connection error into a fault."""
    if isinstance(error, ssl.SSLError):
        untrusted = isinstance(error, ssl.SSLCertVerificationError)
        return Fault("tls_untrusted" if untrusted else "protocol")
    return Fault("unreachable")


class Postgres:
    """Rotation steps for PostgreSQL 11 or later. Privileges and objects belong to a group, which is a role
    without login; each user is a member of the group and acts as the group. Each step is one
    transaction."""

    TABLES = {"read": "SELECT", "read_write": "SELECT, INSERT, UPDATE, DELETE", "admin": "ALL"}
    SEQUENCES = {"read": "SELECT", "read_write": "SELECT, USAGE", "admin": "ALL"}
    SCHEMA = {"read": "USAGE", "read_write": "USAGE", "admin": "USAGE, CREATE"}
    # SQLSTATEs or their classes (PostgreSQL documentation, appendix A). XX000 is the error when two
    # transactions change the same catalogue row.
    FAULTS = {
        "3D000": "no_database", "42501": "privilege_missing", "0LP01": "privilege_missing",
        "22023": "password_policy", "55P03": "busy", "57014": "busy", "40P01": "busy",
        "40001": "busy", "XX000": "busy", "53300": "unreachable", "57P03": "unreachable",
        "57P01": "interrupted", "57P02": "interrupted", "08": "interrupted",
    }  # fmt: skip

    def __init__(self, connection):
        import pg8000.exceptions
        import pg8000.native

        self.at, self.pg, self.db = connection, pg8000, None

    def close(self):
        if self.db:
            try:
                self.db.close()
            except Exception:  # Already closed.
                pass

    def fault(self, error, refused="admin_rejected"):
        said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
        state = said.get("C", "")
        if state[:2] == "28":
            return Fault(refused, state)
        return Fault(self.FAULTS.get(state) or self.FAULTS.get(state[:2], "protocol"), state or None)

    def connect(self, user, password, refused="admin_rejected"):
        class Connection(self.pg.native.Connection):
            def handle_AUTHENTICATION_REQUEST(self, data, context):
                # Refuse to send the password in clear or as MD5: a server with a SCRAM verifier
                # asks for neither.
                if int.from_bytes(data[:4], "big") not in (0, 10, 11, 12):
                    raise Fault("protocol")
                super().handle_AUTHENTICATION_REQUEST(data, context)

        try:
            self.db = Connection(
                user, self.at["host"], self.at["database"], self.at["port"], password,
                ssl_context=tls(self.at) or False, timeout=TIMEOUT,
            )  # fmt: skip
        except self.pg.exceptions.DatabaseError as error:
            raise self.fault(error, refused) from None
        except self.pg.exceptions.InterfaceError as error:
            refuses = "refuses SSL" in str(error)
            raise Fault("tls_not_offered" if refuses else "unreachable") from None
        except OSError as error:
            raise connection_fault(error) from None
        for name, value in (
            ("statement_timeout", "10s"), ("lock_timeout", "5s"),
            ("idle_in_transaction_session_timeout", "15s"), ("search_path", "pg_catalog"),
        ):  # fmt: skip
            self.run(f"SET {name} = '{value}'")

    def run(self, sql, **values):
        try:
            return self.db.run(sql, **values)
        except self.pg.exceptions.DatabaseError as error:
            raise self.fault(error) from None
        except (self.pg.exceptions.InterfaceError, OSError):
            raise Fault("interrupted") from None

    def connect_admin(self):
        self.connect(self.at["admin_username"], self.at["admin_password"])
        if int(self.run("SELECT current_setting('server_version_num')")[0][0]) < 110_000:
            raise Fault("unsupported")

    def schemas(self):
        rows = self.run(
            "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^pg_'"
            " AND nspname <> 'information_schema'"
            " AND has_schema_privilege(oid, 'USAGE WITH GRANT OPTION')"
        )
        if not rows:
            raise Fault("privilege_missing")
        return [name for (name,) in rows]

    def identity(self):
        try:
            return self.run("SELECT system_identifier::text FROM pg_control_system()")[0][0]
        except Fault as fault:
            if fault.code == "privilege_missing":
                return None
            raise

    def test(self, _request, _asked):
        self.connect_admin()
        [[can]] = self.run(
            "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
        )
        if not can:
            raise Fault("privilege_missing")
        self.schemas()

    def begin(self, request, username):
        """Begins a transaction, waits until no other transaction changes users of this rotation, and
        returns True if the user exists. Fails if a later attempt has changed the user."""
        self.run("BEGIN")
        key = f"kv:{request['config']}"
        self.run("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))", key=key)
        there = "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = :name"
        rows = self.run(there, name=username)
        written = re.fullmatch(f"{key}:([0-9]+)", rows[0][0] or "") if rows else None
        if written and int(written[1]) > request["seq"]:
            raise Fault("fenced")
        return bool(rows)

    def commit(self, request, username):
        """Stores the fence (the number of this attempt) at the user, and commits the transaction."""
        fence = f"kv:{request['config']}:{request['seq']}"
        if not re.fullmatch("kv:[0-9a-f-]{36}:[0-9]+", fence):
            raise Fault("protocol")
        self.run(f"COMMENT ON ROLE \"{username}\" IS '{fence}'")
        self.run("COMMIT")

    def apply(self, request, asked):
        user, group, level = asked["username"], asked["group"], asked["level"]
        self.connect_admin()
        identity = self.identity()
        if asked.get("identity") and identity and asked["identity"] != identity:
            raise Fault("identity_changed")
        is_there = self.begin(request, user)
        self.be_quiet()
        if not self.run("SELECT 1 FROM pg_roles WHERE rolname = :name", name=group):
            self.run(f'CREATE ROLE "{group}" NOLOGIN')
        verifier = scram(asked["password"], f"{request['config']}:{request['seq']}:{user}")
        verb = "ALTER" if is_there else "CREATE"
        self.run(f"{verb} ROLE \"{user}\" LOGIN PASSWORD '{verifier}'")
        self.run(f'GRANT "{group}" TO "{user}"')
        self.run(f'ALTER ROLE "{user}" SET role = "{group}"')
        self.grant(group, level)
        self.commit(request, user)
        return {"identity": identity} if identity else {}

    def be_quiet(self):
        """Keeps the password verifier out of the server's log by turning off the log of statements, if
        the administrator may do so."""
        self.run("SAVEPOINT quiet")
        try:
            self.run("SET LOCAL log_statement = 'none'")
        except Fault:
            self.run("ROLLBACK TO SAVEPOINT quiet")

    def grant(self, group, level):
        """Grants the group exactly the privileges of the level, on existing objects and on objects
        that the administrator creates later."""
        [[database, can]] = self.run(
            "SELECT quote_ident(current_database()),"
            " has_database_privilege(:group, current_database(), 'CONNECT')",
            group=group,
        )
        # PUBLIC has this privilege unless it was revoked.
        if not can:
            self.run(f'GRANT CONNECT ON DATABASE {database} TO "{group}"')
        for schema in self.schemas():
            for kind, rights in (("TABLES", self.TABLES), ("SEQUENCES", self.SEQUENCES)):
                default = f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema}"
                self.run(f'REVOKE ALL ON ALL {kind} IN SCHEMA {schema} FROM "{group}"')
                self.run(f'{default} REVOKE ALL ON {kind} FROM "{group}"')
                self.run(f'GRANT {rights[level]} ON ALL {kind} IN SCHEMA {schema} TO "{group}"')
                self.run(f'{default} GRANT {rights[level]} ON {kind} TO "{group}"')
            self.run(f'REVOKE ALL ON SCHEMA {schema} FROM "{group}"')
            self.run(f'GRANT {self.SCHEMA[level]} ON SCHEMA {schema} TO "{group}"')

    def verify(self, _request, asked):
        self.connect(asked["username"], asked["password"], "login_rejected")
        rights = {"read": ["SELECT"], "read_write": ["SELECT", "INSERT", "UPDATE", "DELETE"]}
        rights = rights.get(asked["level"], rights["read_write"])
        may = " AND ".join(f"has_table_privilege(c.oid, '{right}')" for right in rights)
        ours = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
        create = "CREATE" if asked["level"] == "admin" else "USAGE"
        [[tables, schemas]] = self.run(
            # At least one table, if any exist: other tables may have owners who grant nothing.
            f"SELECT (SELECT coalesce(bool_or({may}), true) FROM pg_class c"
            f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND {ours}),"
            f" (SELECT bool_or(has_schema_privilege(n.oid, '{create}')) FROM pg_namespace n WHERE {ours})"
        )
        if not (tables and schemas):
            raise Fault("probe_refused")

    def lock(self, request, asked):
        user = asked["username"]
        self.connect_admin()
        if self.begin(request, user):
            self.run(f'ALTER ROLE "{user}" NOLOGIN')
            self.commit(request, user)


def scram(password, attempt):
    """Returns the password verifier that PostgreSQL stores (RFC 5803). The salt is computed from
    `attempt`, so that a repeated attempt writes the same verifier."""
    salt = hashlib.sha256(attempt.encode()).digest()[:16]
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 4096)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt, stored, server = (base64.b64encode(data).decode() for data in (salt, stored, server))
    return f"SCRAM-SHA-256$4096:{salt}${stored}:{server}"


class Mysql:
    """Rotation steps for MySQL 8.0.21 or later, and MariaDB 10.5 or later. Privileges are granted
    to each user: objects have no owners, so no group is needed to share them. MariaDB has no user
    attributes in which the fence could be stored, so for MariaDB, only concurrent changes are
    prevented."""

    RIGHTS = {
        "read": {"SELECT", "SHOW VIEW"},
        "read_write": {"SELECT", "SHOW VIEW", "INSERT", "UPDATE", "DELETE"},
        "admin": {"SELECT", "SHOW VIEW", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP"},
    }
    # Error numbers of MySQL and MariaDB.
    FAULTS = {
        "no_database": (1049,),
        "privilege_missing": (1044, 1142, 1143, 1211, 1227, 1370, 1410, 1698),
        "password_policy": (1819,),
        "busy": (1205, 1213, 1969, 3024),
        "interrupted": (1053, 1927, 2006, 2013, 4031),
        "unreachable": (1040, 1129, 1130, 1203, 1226),
    }
    # Access denied; account locked, password expired, or account without a password.
    REJECTED = (1045, 1698, 1820, 1862, 3118, 3878, 3955, 4151)

    def __init__(self, connection):
        import pymysql

        self.at, self.my, self.db = connection, pymysql, None

    def close(self):
        if self.db:
            self.db._force_close()

    def fault(self, error, refused=None):
        original = getattr(error, "original_exception", None)
        number = error.args[0] if error.args else None
        if refused and original is not None:
            return connection_fault(original)
        if refused and number in self.REJECTED:
            return Fault(refused)
        if number == 2026:
            return Fault("tls_not_offered")
        if refused == "login_rejected" and number == 1044:
            return Fault("probe_refused")
        return Fault(next((code for code, of in self.FAULTS.items() if number in of), "protocol"))

    def connect(self, user, password, refused="admin_rejected"):
        class Never:
            """Authentication plugin that refuses to send the password in clear text."""

            def __init__(self, _connection):
                raise Fault("protocol")

        context = tls(self.at)
        try:
            self.db = self.my.connect(
                host=self.at["host"], port=self.at["port"], database=self.at["database"],
                user=user, password=password, ssl=context, ssl_disabled=context is None,
                autocommit=True, connect_timeout=CONNECT_TIMEOUT, read_timeout=TIMEOUT,
                write_timeout=TIMEOUT, local_infile=False,
                auth_plugin_map={name: Never for name in ("mysql_clear_password", "dialog")},
            )  # fmt: skip
        except self.my.MySQLError as error:
            raise self.fault(error, refused) from None
        self.version = self.run("SELECT VERSION()")[0][0]
        self.is_mariadb = "MariaDB" in self.version
        # MariaDB: seconds. MySQL: milliseconds.
        limit = "max_statement_time = 10" if self.is_mariadb else "max_execution_time = 10000"
        self.run(f"SET SESSION lock_wait_timeout = 5, innodb_lock_wait_timeout = 5, {limit}")

    def run(self, sql, values=None):
        try:
            with self.db.cursor() as cursor:
                cursor.execute(sql, values)
                return cursor.fetchall()
        except self.my.MySQLError as error:
            raise self.fault(error) from None
        except OSError:
            raise Fault("interrupted") from None

    def connect_admin(self):
        self.connect(self.at["admin_username"], self.at["admin_password"])
        numbers = tuple(int(number) for number in re.findall("[0-9]+", self.version)[:3])
        if numbers < ((10, 5, 0) if self.is_mariadb else (8, 0, 21)):
            raise Fault("unsupported")

    def test(self, _request, _asked):
        self.connect_admin()
        grants = "\n".join(grant for (grant, *_) in self.run("SHOW GRANTS"))
        makes_users = "CREATE USER" in grants or "ALL PRIVILEGES ON *.*" in grants
        if not makes_users or "GRANT OPTION" not in grants:
            raise Fault("privilege_missing")

    def begin(self, request, username):
        """Takes a lock that prevents other changes to users of this rotation until the connection ends.
        Fails if the lock is taken, or if a later attempt has changed the user."""
        if self.run("SELECT GET_LOCK(%s, 0)", (f"kv:{request['config']}",)) != ((1,),):
            raise Fault("busy")
        if self.is_mariadb:
            return
        rows = self.run(
            "SELECT ATTRIBUTE->>'$.kv_seq' FROM information_schema.user_attributes"
            " WHERE USER = %s AND HOST = '%%'",
            (username,),
        )
        if rows and rows[0][0] and int(rows[0][0]) > request["seq"]:
            raise Fault("fenced")

    def fence(self, request):
        """Returns the SQL clause that stores the fence (the number of this attempt) at the user, in the
        statement that changes the user. Empty for MariaDB."""
        return "" if self.is_mariadb else f" ATTRIBUTE '{{\"kv_seq\": {request['seq']}}}'"

    def apply(self, request, asked):
        self.connect_admin()
        self.begin(request, asked["username"])
        user = f"'{asked['username']}'@'%'"
        in_clear = not self.is_mariadb
        try:
            self.set_password(request, asked, user, in_clear)
        except Fault as fault:
            # A policy that requires the password itself (1290: strict_password_validation).
            if in_clear or fault.code not in ("password_policy", "protocol"):
                raise
            in_clear = True
            self.set_password(request, asked, user, in_clear)
        content = {} if self.is_mariadb else {"identity": self.run("SELECT @@server_uuid")[0][0]}
        return content | {"sent_in_clear": in_clear}

    def set_password(self, request, asked, user, in_clear):
        password = asked["password"]
        secret = f"BY '{password}'" if in_clear else f"BY PASSWORD '{native(password)}'"
        # Locked until the user has its privileges and the fence.
        self.run(f"CREATE USER IF NOT EXISTS {user} IDENTIFIED {secret} ACCOUNT LOCK")
        self.run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {user}")
        level = asked["level"]
        rights = "ALL PRIVILEGES" if level == "admin" else ", ".join(sorted(self.RIGHTS[level]))
        self.run(f"GRANT {rights} ON {self.pattern('`')}.* TO {user}")
        fence = self.fence(request)
        self.run(f"ALTER USER {user} IDENTIFIED {secret} ACCOUNT UNLOCK{fence}")

    def pattern(self, quote=""):
        """Returns the database name as a pattern for GRANT, with `_` and `%` escaped."""
        name = re.sub(r"([_%])", r"\\\1", self.at["database"])
        return quote + (name.replace(quote, quote * 2) if quote else name) + quote

    def verify(self, _request, asked):
        self.connect(asked["username"], asked["password"], "login_rejected")
        rows = self.run(
            "SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES"
            " WHERE TABLE_SCHEMA IN (%s, %s)",
            (self.at["database"], self.pattern()),
        )
        if not self.RIGHTS[asked["level"]] <= {right for (right,) in rows}:
            raise Fault("probe_refused")

    def lock(self, request, asked):
        self.connect_admin()
        self.begin(request, asked["username"])
        fence = self.fence(request)
        self.run(f"ALTER USER IF EXISTS '{asked['username']}'@'%' ACCOUNT LOCK{fence}")


def native(password):
    """Returns the password hash in the form that MariaDB stores."""
    first = hashlib.sha1(password.encode()).digest()
    return "*" + hashlib.sha1(first).hexdigest().upper()
