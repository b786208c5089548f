import Cryptography
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Closed library")
struct ClosedLibraryTests {
    /// Replaces the SimpleX library. As there, a command after the end ends the process.
    private static let library = #"""
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static int closed;
        void hs_init_with_rtsopts(int *count, char ***arguments) { (void)count; (void)arguments; }
        char *chat_migrate_init(const char *path, const char *key, const char *confirm, void **core) {
            (void)path; (void)key; (void)confirm;
            *core = malloc(1);
            return strdup("{\"type\":\"ok\"}");
        }
        char *chat_send_cmd(void *core, const char *text) {
            (void)core; (void)text;
            if (closed) abort();
            return strdup("{\"resp\":{\"type\":\"cmdOk\"}}");
        }
        char *chat_recv_msg_wait(void *core, int time) { (void)core; (void)time; pause(); return strdup(""); }
        char *chat_close_store(void *core) { (void)core; closed = 1; return strdup(""); }
        """#

    @Test("a closed library receives no passphrase")
    func closed() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Array(Self.library.utf8), to: "library.c")
        let made = try await Shell.run(
            "gcc", ["-shared", "-fPIC", "-o", folder.path("library.so"), folder.path("library.c")])
        #expect(made.succeeded, "\(made.errors)")
        // A process has only one library.
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let transport = try await LibraryTransport.open(
                library: path + "/library.so", database: DatabaseFiles(prefix: path + "/db"))
            let new = SecretBytes(Array("correct-horse".utf8))
            try await transport.changePassphrase(from: nil, to: new)
            await transport.close()
            let error = await #expect(throws: OfficialCoreError.self) {
                try await transport.changePassphrase(from: new, to: new)
            }
            #expect(error?.code == .closed)
        }
    }
}
