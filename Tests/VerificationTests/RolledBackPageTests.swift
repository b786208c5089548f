import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore
@testable import Verification

/// Shows what "Rollback" in docs/security/keys.md says.
@Suite struct RolledBackPageTests {
    private static let page = 4096

    @Test func rolledBackPageIsNotDetected() throws {
        let folder = try TemporaryFolder()
        let key = SecretBytes([UInt8](repeating: 3, count: 32))
        let path = folder.path("data")
        var earlier: [UInt8] = []
        var alice: Profile?
        do {
            let directory = try DataDirectory(path, key: key)
            let profile = try directory.createProfile("alice")
            alice = profile
            try directory.store.emptyJournal()
            earlier = try folder.read("data/chatfs.db")
            try directory.setNetworkChoice(
                NetworkChoice(routing: .always, fallback: .never, sendsReceipts: false), of: profile)
            try directory.store.emptyJournal()
            directory.store.close()
        }
        let profile = try #require(alice)
        let later = try folder.read("data/chatfs.db")
        #expect(later.count == earlier.count)
        let changed = (0..<later.count / Self.page).filter { number in
            let range = number * Self.page..<(number + 1) * Self.page
            return number > 0 && later[range] != earlier[range]
        }
        var isUndone = false
        for number in changed {
            try folder.write(later, to: "data/chatfs.db")
            let offset = number * Self.page
            try OpenFile(folder.path("data/chatfs.db"), flags: O_RDWR)
                .write(Array(earlier[offset..<offset + Self.page]), at: UInt64(offset))
            let directory = try DataDirectory(path, key: key)
            defer { directory.store.close() }
            guard try directory.networkChoice(of: profile) == NetworkChoice() else { continue }
            isUndone = true
            let found = try ProfileVerification(of: profile, in: directory, isAlone: true).run { _, _ in }
            #expect(found.findings.isEmpty && found.broken.isEmpty)
        }
        #expect(isUndone, "pages \(changed)")
    }

    @Test func movedPageIsDetected() throws {
        let folder = try TemporaryFolder()
        let key = SecretBytes([UInt8](repeating: 3, count: 32))
        let directory = try DataDirectory(folder.path("data"), key: key)
        _ = try directory.createProfile("alice")
        try directory.store.emptyJournal()
        directory.store.close()
        var bytes = try folder.read("data/chatfs.db")
        for index in 0..<Self.page { bytes.swapAt(3 * Self.page + index, 4 * Self.page + index) }
        try folder.write(bytes, to: "data/chatfs.db")
        #expect(ProfileVerification.damage(ofDirectory: folder.path("data"), key: key) != nil)
    }
}
