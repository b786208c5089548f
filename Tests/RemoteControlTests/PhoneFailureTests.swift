import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

/// A mount of a phone with failures on either side.
@Suite("A phone or its computer fails", .serialized)
struct PhoneFailureTests {
    private static func phone(large: Int) throws -> ChatPhone {
        let phone = try ChatPhone()
        for (id, name, size) in [(1, "small.txt", 5), (2, "large.bin", large)] {
            phone.put([UInt8](repeating: 0x61, count: size), as: name)
            var message = ScriptedMessage(id: Int64(id), contact: 1, name: name, size: Int64(size))
            message.status = #"{"type":"rcvComplete"}"#
            message.path = name
            phone.core.change { [message] in $0.history.append(message) }
        }
        return phone
    }

    @Test func fullDiskFailsOneReadOnly() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone(large: 4 << 20))
        // Files of at most 2 MiB, as on a disk with so much room.
        try await place.mount(
            ["--no-encryption"], shell: #"ulimit -f 4096; trap "" XFSZ; exec "$0" "$@""#)
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        let path = place.folder.path("Phone/bob/large.bin")
        try await wait(until: "it is listed") { access(path, F_OK) == 0 }
        let failed = try await place.content("bob/large.bin")
        #expect(!failed.succeeded && failed.errors.contains("No space left on device"), "\(failed.errors)")
        let error = try ExtendedAttribute.text("user.chatfs.error", of: path)
        #expect(error?.contains("full") == true, "\(error ?? "no error")")
        // The session goes on, and nothing is left of the large file.
        #expect(try await place.content("bob/small.txt").output == "aaaaa")
        let found = try await Shell.script(
            #"find "$DATA" -size +1023k -name '.fetched*'"#, environment: ["DATA": place.folder.path("data")])
        #expect(found.output.isEmpty)
        try await place.leave()
    }

    @Test func phoneThatDiesWhileStoringGetsTheFileLater() async throws {
        let (place, phone) = (try PhoneMountPlace(), try Self.phone(large: 10))
        try await place.mount(["--quiet-time", "0"])
        try phone.connect(to: try await place.link())
        try await place.waitUntilMounted()
        let folder = place.folder.path("Phone/bob")
        try await wait(until: "the chat is listed") { access(folder + "/small.txt", F_OK) == 0 }
        let died = Lock(false)
        var watch = ChatPhone.Watch()
        watch.arrives = { [weak phone] count in
            guard count > 500_000 else { return }
            died.withLock { $0 = true }
            phone?.leave()
        }
        phone.watch(watch)
        let content = SeededBytes(38).bytes(1_000_000)
        let source = try place.folder.write(content, to: "mine.bin")
        let copied = try await Shell.script(
            #"cp "$FROM" "$TO""#, environment: ["FROM": source, "TO": folder])
        #expect(copied.succeeded)
        try await wait(until: "it dies") { died.withLock { $0 } }
        phone.watch(ChatPhone.Watch())
        #expect(phone.count(of: "storeFile") == 0 && phone.core.count("/_send") == 0)
        try phone.connect(to: try await place.link())
        try await wait(until: "it is sent") { phone.core.count("/_send") == 1 }
        #expect(phone.files["mine.bin"] == content)
        #expect(phone.count(of: "storeFile") == 1)
        #expect(try place.state("mine.bin") != "queued")
        try await place.leave()
    }
}
