import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import XFTP

@testable import Hydration

/// Bytes that are a function of their position: any part can be made and checked alone. They repeat after
/// a length that has nothing to do with blocks or chunks.
enum Pattern {
    private static let period = 1_000_003
    private static let table: [UInt8] = {
        var dice = Dice(seed: 4711)
        let once = (0..<period / 8 + 1).flatMap { _ in
            withUnsafeBytes(of: dice.next() as UInt64) { Array($0) }
        }.prefix(period)
        return Array(once + once)
    }()

    static func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, seed: UInt64) {
        var done = 0
        while done < buffer.count {
            let start = Int((offset + UInt64(done) + seed * 7919) % UInt64(period))
            let count = min(period, buffer.count - done)
            table.withUnsafeBytes { table in
                UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: table[start..<start + count]))
            }
            done += count
        }
    }

    static func bytes(_ range: Range<UInt64>, seed: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            fill(UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound, seed: seed)
            count = range.count
        }
    }
}

/// Holds tasks until it is opened. Cancellation lets a task through with an error.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var number: UInt64 = 0
    }
    private let state = Lock(State())

    var waiting: Int { state.withLock { $0.waiting.count } }

    func pass() async throws {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if !state.isOpen { state.waiting[number] = continuation }
                    return state.isOpen
                }
                if goesOn { continuation.resume() }
                if Task.isCancelled { release(number) }
            }
        } onCancel: {
            release(number)
        }
        try Task.checkCancellation()
    }

    private func release(_ number: UInt64) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.isOpen = true
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// A described file whose relay is memory: it can be silent, fail, lie and count.
final class MemorySource: ChunkSource {
    struct Behaviour {
        /// Errors for the next fetches of a chunk.
        var failures: [Int: [any Error]] = [:]
        var failsAlways: (any Error)?
        var gate: Gate?
        var fetches: [Int] = []
        var inFlight = 0
        var mostInFlight = 0
        var isForged = false
    }

    let chunks: [ChunkPlace]
    let contentSize: UInt64
    let header: [UInt8]
    let seed: UInt64
    let behaviour = Lock(Behaviour())

    init(
        size: UInt64, chunkSize: UInt32 = 65_536, relay: String = "relay", seed: UInt64 = 1,
        name: String = "file", headerSize: UInt64? = nil
    ) {
        contentSize = size
        self.seed = seed
        header = FileHeader.encode(name: name, contentSize: headerSize ?? size)
        let stream = UInt64(header.count) + size + 16
        let count = Int((stream + UInt64(chunkSize) - 1) / UInt64(chunkSize))
        chunks = Array(repeating: ChunkPlace(size: chunkSize, relay: relay), count: count)
    }

    var fetches: [Int] { behaviour.withLock { $0.fetches } }
    var streamSize: UInt64 { chunks.reduce(0) { $0 + UInt64($1.size) } }

    /// The stream: header, content, padding; the tag is padding too, the check does not look at it.
    func stream(_ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) {
        let content = UInt64(header.count)..<UInt64(header.count) + contentSize
        memset(buffer.baseAddress!, Int32(UInt8(ascii: "#")), buffer.count)
        for position in range.clamped(to: 0..<content.lowerBound) {
            buffer[Int(position - range.lowerBound)] = header[Int(position)]
        }
        let part = content.clamped(to: range)
        guard !part.isEmpty else { return }
        let start = Int(part.lowerBound - range.lowerBound)
        Pattern.fill(
            UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + part.count]),
            at: part.lowerBound - content.lowerBound, seed: seed)
    }

    func fetch(
        _ chunk: Int, progress: @escaping @Sendable () -> Void
    ) async throws -> any FetchedChunk {
        let (gate, failure) = behaviour.withLock { behaviour in
            behaviour.fetches.append(chunk)
            behaviour.inFlight += 1
            behaviour.mostInFlight = max(behaviour.mostInFlight, behaviour.inFlight)
            let failure = behaviour.failures[chunk]?.first ?? behaviour.failsAlways
            if behaviour.failures[chunk]?.isEmpty == false { behaviour.failures[chunk]?.removeFirst() }
            return (behaviour.gate, failure)
        }
        defer { behaviour.withLock { $0.inFlight -= 1 } }
        if let gate { try await gate.pass() }
        if let failure { throw failure }
        let offset = chunks[..<chunk].reduce(0 as UInt64) { $0 + UInt64($1.size) }
        let size = Int(chunks[chunk].size)
        return await ThreadPool.shared.run { MemoryChunk(self, offset: offset, count: size) }
    }

    func wholeCheck() throws -> any WholeCheck { Check(source: self) }

    /// Compares with the stream itself.
    private struct Check: WholeCheck {
        let source: MemorySource
        var position: UInt64 = 0
        var isRight = true

        mutating func add(stream: UnsafeMutableRawBufferPointer) throws {
            try add(encrypted: UnsafeRawBufferPointer(stream))
            // It may use the memory, and does.
            memset(stream.baseAddress!, 0xee, stream.count)
        }

        mutating func add(encrypted stream: UnsafeRawBufferPointer) throws {
            let expected = UnsafeMutableRawBufferPointer.allocate(byteCount: stream.count, alignment: 1)
            defer { expected.deallocate() }
            source.stream(position..<position + UInt64(stream.count), into: expected)
            if memcmp(expected.baseAddress!, stream.baseAddress!, stream.count) != 0 { isRight = false }
            position += UInt64(stream.count)
        }

        func finish() throws {
            let isForged = source.behaviour.withLock { $0.isForged }
            guard isRight, !isForged, position == source.streamSize else {
                throw XFTPError(.damaged, "The file as a whole is not the one that was sent.")
            }
        }
    }
}

/// A chunk of a memory source, "encrypted" by nothing.
private final class MemoryChunk: FetchedChunk {
    let bytes: [UInt8]

    init(_ source: MemorySource, offset: UInt64, count: Int) {
        bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            source.stream(offset..<offset + UInt64(count), into: UnsafeMutableRawBufferPointer(buffer))
            filled = count
        }
    }

    var count: Int { bytes.count }

    func withEncrypted(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try bytes.withUnsafeBytes(body)
    }

    func decrypt(from start: Int, into buffer: UnsafeMutableRawBufferPointer) {
        buffer.copyBytes(from: bytes[start..<start + buffer.count])
    }
}

/// A core whose files are claimed, received or stored as the test wants.
final class MemoryCore: ChatCore {
    struct State {
        var claims: [FileID: Result<String?, ChatError>] = [:]
        var claimCount = 0
        var received: [FileID] = []
        var completed: [FileID: FileSourceLocation] = [:]
        var abandoned: [FileID: [FileProblem?]] = [:]
        var completionFails: [ChatError] = []
        /// Whether the core fetches a copy of its own of what is claimed.
        var receivesWhatIsClaimed = false
    }

    let stagingFolder: String
    let state = Lock(State())
    let profile = Profile(id: 1, displayName: "alice")
    let limits = ChatLimits(largestFile: FilePolicy.xftpLimit)

    init(stagingFolder: String) { self.stagingFolder = stagingFolder }

    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        let claim = state.withLock { state in
            state.claimCount += 1
            return state.claims[file].map { ($0, state.receivesWhatIsClaimed) }
        }
        guard let (claim, isReceived) = claim else { throw ChatError(.noSuchFile, "There is no such file.") }
        return try claim.get().map { ClaimedFile(description: $0, isReceivedByCore: isReceived) }
    }

    func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        let failure = state.withLock { state in
            state.completionFails.isEmpty ? nil : state.completionFails.removeFirst()
        }
        if let failure { throw failure }
        let kept = stagingFolder + "/kept-\(file.rawValue)"
        guard rename(staged.path, kept) == 0 else {
            throw ChatError(.storage, "The staged file is not there.")
        }
        let location = FileSourceLocation(path: kept, arguments: staged.arguments)
        state.withLock { $0.completed[file] = location }
        return location
    }

    func abandonClaim(_ file: FileID, problem: FileProblem?) async {
        state.withLock { $0.abandoned[file, default: []].append(problem) }
    }

    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        state.withLock { $0.received.append(file) }
    }

    // Nothing here asks for the rest.
    private static let unused = ChatError(.invalidCommand, "This core only gives files.")
    func events() -> AsyncStream<ChatEvent> { AsyncStream { $0.finish() } }
    func chats() async throws(ChatError) -> [Chat] { [] }
    func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] { [] }
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem { throw Self.unused }
    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem {
        throw Self.unused
    }
    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError) { throw Self.unused }
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) { throw Self.unused }
    func cancelFile(_ file: FileID) async throws(ChatError) { throw Self.unused }
    func uploadStandaloneFile(_ path: String) async throws(ChatError) -> FileID { throw Self.unused }
    func downloadStandaloneFile(_ link: String, to path: String) async throws(ChatError) -> FileID {
        throw Self.unused
    }
    func standaloneFileInfo(_ link: String) async throws(ChatError) -> StandaloneFile { throw Self.unused }
}

/// A hydrator with its folders, a core and sources of memory.
struct Stage {
    let folder: TemporaryFolder
    let core: MemoryCore
    let hydrator: Hydrator
    private let sources: Lock<[String: MemorySource]>

    init(settings: HydrationSettings = HydrationSettings(), pins: PinnedFiles? = nil) throws {
        folder = try TemporaryFolder()
        core = MemoryCore(stagingFolder: try folder.makeFolder("staging"))
        let sources = Lock<[String: MemorySource]>([:])
        self.sources = sources
        hydrator = try Hydrator(
            core: core, cacheFolder: PrivateFolder(folder.path("cache"), purpose: "test cache"),
            settings: settings, pins: pins
        ) { claim in
            guard let source = sources.withLock({ $0[claim.description] }) else {
                throw XFTPError(.malformedDescription, "The file description makes no sense.")
            }
            return source
        }
    }

    /// An item that can be claimed and is fetched from `source`.
    func offer(_ source: MemorySource, id: Int64 = 1, size: UInt64? = nil) -> ChatItem {
        sources.withLock { $0["\(id)"] = source }
        core.state.withLock { $0.claims[FileID(id)] = .success("\(id)") }
        return item(id, size: size ?? source.contentSize)
    }

    /// A CryptoFile as the core keeps it.
    func encrypted(_ plain: [UInt8], to path: String) throws -> FileArguments {
        let arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(
            file: OpenFile(path, flags: O_RDWR | O_CREAT), arguments: arguments)
        try writer.append(plain)
        try writer.finish()
        return arguments
    }

    func item(
        _ id: Int64, size: UInt64, status: FileStatus = .rcvInvitation(described: true),
        source: FileSourceLocation? = nil
    ) -> ChatItem {
        ChatItem(
            id: ItemID(id), chat: .direct(1), direction: .received, sender: "bob",
            time: Timestamp(seconds: 1), content: MessageContent(kind: .file),
            file: ChatFile(
                id: FileID(id), name: "file", size: size, status: status, transport: .xftp, source: source))
    }
}

extension HydratedFile {
    /// What a reader gets: at once when it is here, otherwise after waiting.
    func bytes(_ range: Range<UInt64>, deadline: Duration = .seconds(60)) async throws -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        switch read(range, into: buffer) {
        case .filled(let count): return Array(buffer[..<count])
        case .failed(let problem): throw ReadFailure(problem: problem)
        case .notYet: break
        }
        switch await read(range, into: buffer, deadline: deadline) {
        case .filled(let count): return Array(buffer[..<count])
        case .failed(let problem): throw ReadFailure(problem: problem)
        case .cancelled: throw CancellationError()
        }
    }

    func immediate(_ range: Range<UInt64>) -> ImmediateRead {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 1)
        defer { buffer.deallocate() }
        return read(range, into: buffer)
    }
}

struct ReadFailure: Error {
    var problem: FileProblem
}

/// A generator with a fixed seed: a failing run can be repeated.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
}
