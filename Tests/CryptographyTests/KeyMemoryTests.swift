import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Finds the key of sealed files in this process, during use and afterwards. Serialized, because a search copies the
/// memory that it reads, where another search would find its key.
@Suite(.serialized) struct KeyMemoryTests {
    /// Threads that write and read blocks of one file until stopped.
    private final class Users: Sendable {
        private struct State {
            var isStopping = false
            var running = 0
            var rounds = 0
            var failures: [String] = []
        }
        private let state = Lock(State())

        var rounds: Int { state.withLock { $0.rounds } }
        var failures: [String] { state.withLock { $0.failures } }

        func start(_ count: Int, on file: SealedFile) {
            for number in 0..<count {
                state.withLock { $0.running += 1 }
                Thread.start("user-\(number)") {
                    let result = Result { try self.use(file, number) }
                    self.state.withLock { state in
                        if case .failure(let error) = result { state.failures.append("\(error)") }
                        state.running -= 1
                    }
                }
            }
        }

        private func use(_ file: SealedFile, _ number: Int) throws {
            let bytes = Vectors.bytes(3 * SealedFile.blockSize / 2, seed: UInt64(number))
            let place = UInt64(2 * number * SealedFile.blockSize)
            var found = [UInt8](repeating: 0, count: bytes.count)
            while !state.withLock({ $0.isStopping }) {
                try file.write(bytes, at: place)
                let count = try found.withUnsafeMutableBytes { try file.read(into: $0, at: place) }
                state.withLock { state in
                    state.rounds += 1
                    if count != bytes.count || found != bytes { state.failures.append("other bytes") }
                }
            }
        }

        func stop() async throws {
            state.withLock { $0.isStopping = true }
            try await wait(until: "all have stopped") { state.withLock { $0.running == 0 } }
        }
    }

    @Test func keyIsOnlyInLockedMemoryWhileFilesAreOpen() async throws {
        let folder = try TemporaryFolder()
        var key: SecretBytes? = SecretBytes(randomCount: 32)
        let memory = try #require(key).withUnsafeBytes { try ProcessMemory(lookingFor: $0) }
        var file: SealedFile? = try SealedFile(
            file: OpenFile(folder.path("sealed"), flags: O_RDWR | O_CREAT), key: #require(key), fileID: [1])
        let users = Users()
        try users.start(6, on: #require(file))
        for round in 0..<4 {
            try await wait(until: "blocks are sealed and opened") { users.rounds > 20 * round }
            let places = try memory.places()
            #expect(!places.isEmpty)
            #expect(places.filter { !$0.isLocked }.isEmpty)
        }
        try await users.stop()
        #expect(users.failures.isEmpty)
        // Between uses only the key itself remains, and nothing after closing.
        #expect(try memory.places().map(\.isLocked) == [true])
        file = nil
        key = nil
        #expect(try memory.places().isEmpty)
    }

    /// A hundred at once, as with many open databases. Each state is in locked memory and gone afterwards.
    @Test func manyCipherStatesStayInLockedMemory() throws {
        let key = SecretBytes(randomCount: 32)
        let memory = try key.withUnsafeBytes { try ProcessMemory(lookingFor: $0) }
        func nest(_ depth: Int) throws -> [ProcessMemory.Place] {
            try BlockCipher.borrow { cipher throws(any Error) in
                var block = [UInt8](repeating: 1, count: 64)
                var tag = [UInt8](repeating: 0, count: SealedBlock.tagLength)
                let nonce = [UInt8](repeating: 2, count: SealedBlock.nonceLength)
                try block.withUnsafeMutableBytes { block in
                    try cipher.seal(
                        UnsafeRawBufferPointer(block), into: block.baseAddress!, key: key, nonce: nonce,
                        authenticated: [3], tag: &tag)
                }
                return try depth == 1 ? memory.places() : nest(depth - 1)
            }
        }
        let places = try nest(100)
        // The key, and the first round key of each state.
        #expect(places.count == 101)
        #expect(places.filter { !$0.isLocked }.isEmpty)
        #expect(try memory.places().map(\.isLocked) == [true])
    }

    /// Runs in its own process: the first algorithm fetched must not take locked memory from later keys.
    @Test func orderOfCiphersKeepsKeysInLockedMemory() async {
        await #expect(processExitsWith: .success) {
            let key = SecretBytes(randomCount: 32)
            let memory = try key.withUnsafeBytes { try ProcessMemory(lookingFor: $0) }
            var sealed = [UInt8](repeating: 0, count: 8 + RecordCipher.overhead)
            let isSealed = [UInt8](repeating: 1, count: 8).withUnsafeBytes { plaintext in
                [UInt8(2)].withUnsafeBytes {
                    RecordCipher(key: key).seal(plaintext, authenticating: $0, into: &sealed)
                }
            }
            #expect(isSealed)
            try BlockCipher.borrow { cipher throws(any Error) in
                var (block, tag) = ([UInt8](repeating: 1, count: 64), [UInt8](repeating: 0, count: 16))
                let nonce = [UInt8](repeating: 2, count: SealedBlock.nonceLength)
                try block.withUnsafeMutableBytes { block in
                    try cipher.seal(
                        UnsafeRawBufferPointer(block), into: block.baseAddress!, key: key, nonce: nonce,
                        authenticated: [3], tag: &tag)
                }
                // The key itself, and the first round key.
                let places = try memory.places()
                #expect(places.map(\.isLocked) == [true, true])
            }
        }
    }

    /// Tests the search itself.
    @Test func searchFindsKeyCopies() throws {
        let key = SecretBytes(randomCount: 32)
        let memory = try key.withUnsafeBytes { try ProcessMemory(lookingFor: $0) }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
        defer { copy.deallocate() }
        key.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: copy[3...]).copyMemory(from: $0) }
        #expect(try memory.places().map(\.isLocked).sorted { !$0 && $1 } == [false, true])
    }
}
