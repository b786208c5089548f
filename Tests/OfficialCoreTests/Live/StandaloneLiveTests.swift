import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite(
    "Standalone files of the official program", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct StandaloneLiveTests {
    @Test("links of one chunk and redirects work")
    func upload() async throws {
        let relays = try await OfficialRelays()
        let (alice, bob) = try await LivePerson.acquaintances(relays)
        for size in [50_000, 5_500_000] {
            let bytes = SystemRandomSource().bytes(size)
            let path = try relays.folder.write(bytes, to: "alice/upload-\(size).bin")
            let told = alice.core.events()
            let upload = try await alice.core.uploadStandaloneFile(path)
            let links = try await first(of: told) { event -> [String]? in
                guard case .sndStandaloneFileComplete(upload, let links) = event else { return nil }
                return links
            }
            let link = try #require(links.first)
            let info = try await bob.core.standaloneFileInfo(link)
            #expect(info.encryptedSize > UInt64(size))
            #expect(info.relays == [relays.files.address])

            let heard = bob.core.events()
            let target = relays.folder.path("bob/download-\(size).bin")
            let download = try await bob.core.downloadStandaloneFile(link, to: target)
            let place = try await first(of: heard) { event -> String? in
                guard case .rcvStandaloneFileComplete(download, let path) = event else { return nil }
                return path
            }
            #expect(place == target)
            #expect(try relays.folder.read("bob/download-\(size).bin") == bytes)
        }
        for person in [alice, bob] { await person.core.shutDown() }
        try await relays.stop()
    }

    /// The first matching event within a minute.
    private func first<Value: Sendable>(
        of events: AsyncStream<ChatEvent>, _ fits: @escaping @Sendable (ChatEvent) -> Value?
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                for await event in events { if let value = fits(event) { return value } }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: .seconds(60))
                throw WaitedInVain("the event did not come")
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw WaitedInVain("the events ended") }
            return value
        }
    }
}
