import Cryptography
import Glibc
import OfficialCore
import Posix
import TestSupport
import Testing

@testable import chatfs

/// The passphrase of an official core's database in this program.
@Suite struct PassphraseTests {
    /// Replaces the SimpleX library. Accepts a passphrase of 32 characters and keeps none of it.
    private static let library = #"""
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        void hs_init_with_rtsopts(int *count, char ***arguments) { (void)count; (void)arguments; }
        char *chat_migrate_init(const char *path, const char *key, const char *confirm, void **core) {
            (void)path; (void)confirm;
            *core = malloc(1);
            return strdup(strlen(key) == 32 ? "{\"type\":\"ok\"}"
                : "{\"type\":\"errorNotADatabase\",\"dbFile\":\"x\"}");
        }
        char *chat_send_cmd(void *core, const char *text) { (void)core; (void)text; return strdup("{}"); }
        char *chat_recv_msg_wait(void *core, int time) { (void)core; (void)time; pause(); return strdup(""); }
        char *chat_close_store(void *core) { (void)core; return strdup(""); }
        """#

    @Test("memory holds no passphrase after opening")
    func wiped() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Array(Self.library.utf8), to: "library.c")
        let path = folder.path("library.so")
        let made = try await Shell.run("gcc", ["-shared", "-fPIC", "-o", path, folder.path("library.c")])
        #expect(made.succeeded, "\(made.errors)")

        var secret: SecretBytes? = SecretBytes(upTo: 32) { room in
            for index in room.indices { room[index] = UInt8.random(in: 0x21...0x7E) }
            return room.count
        }
        let memory = try #require(secret).withUnsafeBytes { try ProcessMemory(lookingFor: $0) }
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let given = try #require(secret).withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
        #expect(given == 32 && write(ends[1], "\r\n", 2) == 2)
        close(ends[1])
        secret = nil
        #expect(try memory.places().isEmpty)

        let choice = try #require(
            try OfficialCoreChoice(
                core: "lib:" + path, database: folder.path("db"), passphraseDescriptor: "\(ends[0])"))
        let before = try memory.places()
        #expect(before.count == 1 && before.allSatisfy(\.isLocked), "\(before)")
        let settings = try choice.settings(dataPath: folder.path)
        let transport = try await choice.transport(settings)
        try await wait(until: "the passphrase is gone") { try memory.places().isEmpty }
        withExtendedLifetime((choice, transport)) {}
    }
}
