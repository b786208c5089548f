import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import KeySlots

@Suite struct KeySlotsFileTests {
    private let folder: TemporaryFolder
    private let file: KeySlotsFile
    private let dataKey = DataKey.random()

    init() throws {
        folder = try TemporaryFolder()
        file = KeySlotsFile(path: folder.path("keys"))
    }

    private func made() throws -> KeySlots {
        try KeySlots(dataKey, for: .words("first"), at: Timestamp(seconds: 1), cost: cheap)
    }

    @Test func fileIsPrivateAndRoundTrips() throws {
        let slots = try made()
        try file.create(slots)
        #expect(try file.read() == slots)
        #expect(try OpenFile(file.path, flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
        #expect(try #require(throws: KeySlotsError.self) { try file.create(slots) }.code == .exists)
        #expect(access(file.path + ".new", F_OK) != 0)
    }

    @Test func changesAreAtomic() throws {
        try file.create(made())
        let before = try file.read()
        #expect(throws: KeySlotsError.self) {
            try file.change { (slots: inout KeySlots) throws(KeySlotsError) in
                try slots.add(.words("second"), for: dataKey, at: Timestamp(seconds: 2), cost: cheap)
                try slots.remove(77)
            }
        }
        #expect(try file.read() == before)
        try file.change { (slots: inout KeySlots) throws(KeySlotsError) in
            try slots.add(.words("second"), for: dataKey, at: Timestamp(seconds: 2), cost: cheap)
            try slots.remove(1)
        }
        #expect(try file.read().unlock(with: .words("second")).dataKey.bytes == dataKey.bytes)
    }

    @Test func changesExcludeEachOther() throws {
        try file.create(made())
        try file.change { (_: inout KeySlots) throws(KeySlotsError) in
            let error = #expect(throws: KeySlotsError.self) {
                try file.change { (_: inout KeySlots) throws(KeySlotsError) in }
            }
            #expect(error?.code == .busy)
        }
    }

    @Test func remainsOfKilledProcessesAreReplaced() throws {
        try file.create(made())
        try folder.write([1, 2, 3], to: "keys.new")
        try file.change { (slots: inout KeySlots) throws(KeySlotsError) in
            _ = try slots.add(.recoveryCode(.random()), for: dataKey, at: Timestamp(seconds: 2))
        }
        #expect(try file.read().slots.count == 2)
        #expect(access(file.path + ".new", F_OK) != 0)
    }

    @Test func missingAndOtherFilesAreErrors() throws {
        #expect(try #require(throws: KeySlotsError.self) { try file.read() }.code == .missing)
        try folder.write([UInt8](repeating: 65, count: 100_000), to: "keys")
        #expect(try #require(throws: KeySlotsError.self) { try file.read() }.code == .notKeySlots)
        try folder.write(made().encoded + [UInt8](repeating: 0, count: 100_000), to: "keys")
        #expect(try #require(throws: KeySlotsError.self) { try file.read() }.code == .damaged)
        unlink(file.path)
        symlink("elsewhere", file.path)
        #expect(throws: KeySlotsError.self) { try file.read() }
    }

    @Test func fullDiskKeepsTheOldFile() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let folder = try TemporaryFolder()
            let file = KeySlotsFile(path: folder.path("keys"))
            let dataKey = DataKey.random()
            try file.create(KeySlots(dataKey, for: .words("first"), at: Timestamp(seconds: 1), cost: cheap))
            var limit = rlimit(rlim_cur: 100, rlim_max: rlim_t.max)
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let error = #expect(throws: KeySlotsError.self) {
                try file.change { (slots: inout KeySlots) throws(KeySlotsError) in
                    _ = try slots.add(.recoveryCode(.random()), for: dataKey, at: Timestamp(seconds: 2))
                }
            }
            #expect(error?.code == .file)
            limit.rlim_cur = rlim_t.max
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            #expect(try file.read().unlock(with: .words("first")).dataKey.bytes == dataKey.bytes)
            #expect(access(file.path + ".new", F_OK) != 0)
        }
    }

    @Test func secretsAreReadFromFilesAndPipes() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (OpenFile(adopting: ends[0]), OpenFile(adopting: ends[1]))
        try Files.send("correct horse\n", to: writing)
        try Files.close(writing)
        guard case .passphrase(let words) = try UnlockingSecret.passphrase(from: reading) else {
            Issue.record("no passphrase")
            return
        }
        #expect(words.bytes == Array("correct horse".utf8))
        for (content, isKey) in [([UInt8](0..<32), true), ([UInt8](0..<31), false), ([UInt8](0..<33), false)]
        {
            try folder.write(content, to: "credential")
            let found = try? UnlockingSecret.key(from: OpenFile(folder.path("credential"), flags: O_RDONLY))
            #expect((found != nil) == isKey)
        }
        for content in [[], [10], [UInt8](repeating: 65, count: 1026)] as [[UInt8]] {
            try folder.write(content, to: "credential")
            #expect(throws: KeySlotsError.self) {
                try UnlockingSecret.passphrase(from: OpenFile(folder.path("credential"), flags: O_RDONLY))
            }
        }
    }

    @Test func tooLongSecretsAreNotTruncated() throws {
        func reading<Secret>(
            _ content: [UInt8], _ body: (OpenFile) throws(KeySlotsError) -> Secret
        ) throws -> Bool {
            try folder.write(content, to: "credential")
            let file = try OpenFile(folder.path("credential"), flags: O_RDONLY)
            return (try? body(file)) != nil
        }
        let longest = [UInt8](repeating: 65, count: UnlockingSecret.longestPassphrase)
        for (rest, isRead) in [
            ([], true), ([10], true), ([65], false), ([10, 10], false), ([10, 65], false),
            ([10] + longest, false),
        ] as [([UInt8], Bool)] {
            #expect(try reading(longest + rest, UnlockingSecret.passphrase) == isRead, "\(rest.count) more")
        }
        let code = RecoveryCode.random().text
        // The maximum bytes of an ASCII text plus one, in far fewer characters.
        let dashes = String(repeating: "\u{2014}", count: 55)
        let letters = code.filter { $0 != "-" }
        for (text, isRead) in [
            (code, true), (code + "\n", true), (letters + dashes + dashes + "\n", true),
            (letters + dashes + "\u{2014}\u{2014}" + "no code at all", false),
            (letters + String(repeating: "\u{2014}", count: 170), true),
            (letters + String(repeating: "\u{2014}", count: 171), false),
            (code + String(repeating: " ", count: 4000), false),
        ] {
            #expect(try reading(Array(text.utf8), UnlockingSecret.recoveryCode) == isRead, "\(text)")
        }
    }

    private enum Files {
        static func send(_ text: String, to file: OpenFile) throws {
            try file.send(Array(text.utf8))
        }
        /// The writer's end is closed; a null device replaces it.
        static func close(_ file: OpenFile) throws {
            let null = try OpenFile("/dev/null", flags: O_WRONLY)
            try check("replace a descriptor") { dup2(null.descriptor, file.descriptor) }
        }
    }
}
