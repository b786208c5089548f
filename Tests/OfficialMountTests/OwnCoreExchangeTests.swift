import TestSupport
import Testing

@Suite(
    "Files between ChatFS's core and the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OwnCoreExchangeTests {
    /// Olga sends a file, and ChatFS reads it completely.
    private func receive(_ pair: OwnCorePair, _ name: String, count: Int) async throws {
        try await pair.offer(name, count: count)
        try await pair.waitUntilRead(name)
    }

    /// ChatFS sends a file, and Olga receives it.
    private func send(_ pair: OwnCorePair, _ name: String, count: Int) async throws {
        try await pair.copyIn(name, count: count)
        try await pair.waitUntilReceived(name)
    }

    @Test("300 MiB arrive unchanged in both directions")
    func large() async throws {
        let pair = try await OwnCorePair.start()
        try await receive(pair, "from olga.bin", count: 300 << 20)
        try await send(pair, "to olga.bin", count: 300 << 20)
        try await pair.end()
    }

    @Test("files continue after rotation and ratchet sync")
    func renewed() async throws {
        let pair = try await OwnCorePair.start()
        try await receive(pair, "first.bin", count: 100_000)
        try await pair.client.command("/_switch @\(pair.contact)")
        try await pair.client.event(
            "contactSwitch", with: "\"switchPhase\":\"completed\"", within: .seconds(120))
        try await receive(pair, "moved.bin", count: 100_000)
        try await send(pair, "moved back.bin", count: 100_000)
        try await pair.client.command("/_sync @\(pair.contact) force=on")
        try await pair.client.event(
            "contactRatchetSync", with: "\"ratchetSyncStatus\":\"ok\"", within: .seconds(120))
        try await receive(pair, "agreed.bin", count: 100_000)
        try await send(pair, "agreed back.bin", count: 100_000)
        try await pair.end()
    }
}
