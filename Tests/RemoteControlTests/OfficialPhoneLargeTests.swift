import Glibc
import TestSupport
import Testing

/// A large file in both directions between mounts and a phone. `CHATFS_PHONE_MEBIBYTES` sets its size; with it, the
/// memory of the mounts is limited too.
@Suite(
    "The official program as the phone of a mount with a large file",
    .enabled(if: !OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with simplex-chat"))
struct OfficialPhoneLargeTests {
    private static let given = getenv("CHATFS_PHONE_MEBIBYTES").flatMap { Int(String(cString: $0)) }
    private static let mebibytes = given ?? 32
    private static let limit = Duration.seconds(1800)
    /// Memory above the idle mount in kilobytes.
    private static let maxMemory = 40 << 10

    /// Returns a field of /proc/PID/status in kilobytes.
    private static func memory(_ field: String, of place: PhoneMountPlace) async throws -> Int {
        let daemon = try #require(place.daemon)
        let line = try await Shell.script("grep \(field) /proc/\(daemon.processIdentifier)/status")
        return try #require(Int(line.output.split(separator: " ").dropLast().last ?? ""))
    }

    /// Mounts the phone. Returns the memory of the idle mount.
    private static func mount(_ place: PhoneMountPlace, _ phone: OfficialPhone) async throws -> Int {
        try await place.mount()
        try await phone.waitUntilFree()
        try await phone.verify(try await phone.connect(try await place.link()))
        try await place.waitUntilMounted()
        let notes = place.folder.path("Phone/Saved notes")
        try await wait(until: "its notes are shown") { access(notes, F_OK) == 0 }
        try await Task.sleep(for: .seconds(3))
        return try await memory("VmRSS", of: place)
    }

    /// Compares the peak of a mount's memory with the idle mount.
    private static func check(_ place: PhoneMountPlace, idle: Int) async throws {
        let above = try await memory("VmHWM", of: place) - idle
        print("memory above the idle mount beside \(mebibytes) MiB: \(above >> 10) MiB")
        if given != nil { #expect(above <= maxMemory) }
    }

    @Test func largeFileGoesBothWaysInBoundedMemory() async throws {
        let (phone, sender) = (try await OfficialPhone(), try PhoneMountPlace())
        let (size, file) = (Self.mebibytes << 20, sender.folder.path("large.bin"))
        let made = try await Shell.script(
            #"head -c "$SIZE" /dev/urandom > "$FILE""#, environment: ["SIZE": "\(size)", "FILE": file])
        #expect(made.succeeded, "\(made.errors)")
        let idle = try await Self.mount(sender, phone)
        let copied = try await Shell.script(
            #"cp "$FILE" "$NOTES/""#,
            environment: ["FILE": file, "NOTES": sender.folder.path("Phone/Saved notes")], limit: Self.limit)
        #expect(copied.succeeded, "\(copied.errors)")
        try await wait(until: "it is stored", within: Self.limit) { phone.has("large.bin", size: size) }
        try await wait(until: "it is sent") {
            try await phone.command("/_get chat *1 count=5").contains("large.bin")
        }
        try await Self.check(sender, idle: idle)
        let stored = try await Shell.run("cmp", [file, phone.path(of: "large.bin")], limit: Self.limit)
        #expect(stored.succeeded, "\(stored.output)\(stored.errors)")
        try await sender.leave()
        // Another computer has nothing of it.
        let reader = try PhoneMountPlace()
        let idleReader = try await Self.mount(reader, phone)
        let path = reader.folder.path("Phone/Saved notes/large.bin")
        try await wait(until: "it is listed") { access(path, F_OK) == 0 }
        let read = try await Shell.run("cmp", [file, path], limit: Self.limit)
        #expect(read.succeeded, "\(read.output)\(read.errors)")
        try await Self.check(reader, idle: idleReader)
        try await reader.leave()
    }
}
