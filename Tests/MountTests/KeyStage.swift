import Glibc
import Posix
import TestSupport

/// A data directory without the credential of other tests. Only a test's own secrets unlock it.
struct KeyStage {
    let folder: TemporaryFolder
    /// Additional environment, such as the replacement of libsecret.
    var environment: [String: String?] = ["CREDENTIALS_DIRECTORY": nil]
    let data: String

    /// - Parameter data: Path of the data directory below the stage's folder.
    init(data: String = "data") throws {
        folder = try TemporaryFolder()
        self.data = folder.path(data)
    }

    /// Another data directory in the same folder.
    init(sharing stage: KeyStage, data: String) throws {
        (folder, environment) = (stage.folder, stage.environment)
        self.data = folder.path(data)
    }

    /// Runs `chatfs` with texts as descriptors from 3 on, which sh opens.
    func chatfs(_ words: String, handing texts: [String] = []) async throws -> Shell.Outcome {
        var redirections = ""
        for (index, text) in texts.enumerated() {
            try folder.write(Array(text.utf8), to: "handed-\(index)")
            redirections += " \(index + 3)<\(folder.path("handed-\(index)"))"
        }
        defer { for index in texts.indices { unlink(folder.path("handed-\(index)")) } }
        var environment = environment
        for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"] where environment[name] == nil {
            environment[name] = .some(nil)
        }
        return try await Shell.script(
            "\(ChatFSProcess.path) \(words) --data \(data)\(redirections) </dev/null",
            environment: environment)
    }

    func make(_ name: String = "alice", passphrase: String) async throws {
        let outcome = try await chatfs("profile create \(name) --passphrase-fd 3", handing: [passphrase])
        guard outcome.succeeded else { throw WaitedInVain("profile create: \(outcome.errors)") }
    }

    /// Installs a C library in place of libsecret. It stores keys as files in a folder and behaves as the file `mode`
    /// there says: works, locked, hangs, forgets.
    mutating func installKeyring() async throws {
        _ = try folder.makeFolder("keyring")
        _ = try folder.makeFolder("library")
        try folder.write(Array(Self.library.utf8), to: "library/secret.c")
        let made = try await Shell.run(
            "gcc",
            [
                "-shared", "-fPIC", "-o", folder.path("library/libsecret-1.so.0"),
                folder.path("library/secret.c"),
            ])
        guard made.succeeded else { throw WaitedInVain("gcc: \(made.errors)") }
        environment["LD_LIBRARY_PATH"] = folder.path("library")
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere"
        environment["KEYRING"] = folder.path("keyring")
        try setKeyring("works")
    }

    func setKeyring(_ mode: String) throws { try folder.write(Array(mode.utf8), to: "keyring/mode") }

    /// Names of the stored keys.
    func kept() throws -> [String] { try folder.names(in: "keyring").filter { $0 != "mode" } }

    /// The used functions of libsecret and GLib, with the signatures of the reference manual.
    private static let library = #"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        typedef struct { char *key, *value; } Table;
        typedef struct { unsigned domain; int code; char *message; } Error;
        typedef struct { void *data, *next, *previous; } List;
        typedef struct { int locked; char text[200]; } Item;
        typedef struct { char *name; int flags; struct { char *name; int type; } attributes[32]; } Schema;
        unsigned g_str_hash(const void *text) { (void)text; return 1; }
        int g_str_equal(const void *a, const void *b) { return !strcmp(a, b); }
        void *g_hash_table_new(void *hash, void *equal) { return hash && equal ? calloc(1, sizeof(Table)) : 0; }
        int g_hash_table_insert(Table *table, char *key, char *value) { table->key = key; table->value = value; return 1; }
        unsigned secret_error_get_quark(void) { return 77; }
        static char mode(void) {
            char path[500], text[20] = "";
            snprintf(path, sizeof path, "%s/mode", getenv("KEYRING"));
            FILE *file = fopen(path, "r");
            if (file) { fgets(text, sizeof text, file); fclose(file); }
            if (text[0] == 'h') pause();
            return text[0];
        }
        static void place(char *path, size_t size, Schema *schema, Table *table) {
            if (strcmp(schema->name, "org.chatfs.DataKey") || strcmp(schema->attributes[0].name, table->key)) abort();
            snprintf(path, size, "%s/%s", getenv("KEYRING"), table->value);
        }
        static int fail(Error **error, int code) {
            *error = calloc(1, sizeof(Error));
            (*error)->domain = 77;
            (*error)->code = code;
            return 0;
        }
        void *secret_service_get_sync(int flags, void *cancellable, Error **error) {
            (void)flags; (void)cancellable; (void)error;
            mode();
            return "service";
        }
        List *secret_service_search_sync(void *service, Schema *schema, Table *table, int flags, void *cancellable,
                                         Error **error) {
            (void)service; (void)cancellable; (void)error;
            if (!(flags & 8)) abort();
            char path[500];
            place(path, sizeof path, schema, table);
            FILE *file = fopen(path, "r");
            if (!file) return 0;
            List *list = calloc(1, sizeof(List));
            Item *item = calloc(1, sizeof(Item));
            fread(item->text, 1, sizeof item->text - 1, file);
            fclose(file);
            // "locked" stays so, "prompts" is unlocked by its user.
            item->locked = mode() == 'l' || (mode() == 'p' && !(flags & 4));
            list->data = item;
            return list;
        }
        int secret_item_get_locked(Item *item) { return item->locked; }
        void *secret_item_get_secret(Item *item) { return item; }
        const char *secret_value_get(Item *item, size_t *length) { *length = strlen(item->text); return item->text; }
        int secret_password_storev_sync(Schema *schema, Table *table, const char *collection, const char *label,
                                        const char *password, void *cancellable, Error **error) {
            (void)label; (void)cancellable;
            if (mode() == 'l') return fail(error, 2);
            if (strcmp(collection, "default")) return fail(error, 1);
            if (mode() == 'f') return 1;
            char path[500];
            place(path, sizeof path, schema, table);
            FILE *file = fopen(path, "w");
            fputs(password, file);
            fclose(file);
            return 1;
        }
        int secret_password_clearv_sync(Schema *schema, Table *table, void *cancellable, Error **error) {
            (void)cancellable;
            if (mode() == 'l') return fail(error, 2);
            char path[500];
            place(path, sizeof path, schema, table);
            return unlink(path) == 0;
        }
        """#
}
