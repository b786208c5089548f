import ChatCore

/// What the machine consists of and talks in.
extension HydrationMachine {
    enum Action: Hashable, Sendable {
        /// Find out where the bytes are: the core's copy, chunks to be claimed, or the core itself.
        case prepare(FileID, Generation)
        case fetch(FileID, Generation, chunk: Int)
        /// Nobody wants this chunk any more: its fetch is to end, and says so by `fetchFailed`.
        case cancel(FileID, Generation, chunk: Int)
        /// Begin the check of the whole anew with what is in the cache.
        case pass(FileID, Generation)
        /// All chunks have gone through the check: hand the whole to the core.
        case complete(FileID, Generation)
        /// Answer a waiting reader; nil: its bytes are at hand.
        case wake(WaiterID, FileProblem?)
        /// Let go of the content: nothing may be served from it again.
        case drop(FileID)
        /// The same, and take it from everybody else who holds it.
        case erase(FileID)
        /// Give the claim back, with the reason when there is one.
        case abandon(FileID, FileProblem?)
        /// Which files are to be received to their end has changed.
        case noteUnfinished
        case changed(FileID)
        case invalidated(FileID)
    }

    /// Tells the answers of an abandoned attempt from those of the present one.
    typealias Generation = UInt64
    typealias WaiterID = UInt64

    enum Phase: Sendable {
        case idle
        case preparing
        /// The core receives it, or the sender is still uploading: events will tell.
        case awaitingCore
        case chunks(ChunkDownload)
        /// A verified copy of the whole, with so many bytes of it decrypted in the cache.
        case whole(cached: UInt64)
        /// For good, as far as this mount is concerned.
        case failed(FileProblem)
    }

    /// What a waiter waits for.
    enum Goal: Hashable, Sendable {
        /// Bytes of the content.
        case bytes(Range<UInt64>)
        /// A verified copy of all of it.
        case whole
    }

    struct Waiter: Sendable {
        var id: WaiterID
        var goal: Goal
        var patience: Duration
        var deadline: Duration
        /// Who waits for bytes is answered then, whatever signs of life there are.
        var end: Duration?

        init(id: WaiterID, goal: Goal, patience: Duration, now: Duration) {
            self.id = id
            self.goal = goal
            self.patience = patience
            deadline = now + patience
            renew(now: now)
        }

        /// What came cannot come again: all of it is waited for, however long that takes.
        mutating func renew(now: Duration) {
            if case .bytes = goal { end = now + patience * mostPatience }
        }

        mutating func grantPatience(now: Duration) {
            deadline = now + patience
            if let end { deadline = min(deadline, end) }
        }
    }

    /// A read is answered after so many times its patience. By then a chunk of 4 MiB has come whose relay gave
    /// just enough signs of life; longer waits are made of many tries.
    private static let mostPatience = 20

    struct Entry: Sendable {
        var item: ChatItem
        var file: ChatFile
        var opens = 0
        var generation: Generation = 0
        var phase = Phase.idle
        var waiters: [Waiter] = []
        var readAhead = ReadAhead()
        var lastUse = Duration.zero
        var isRemoved = false
        /// Why the last attempt to prepare failed, and until when that is the answer.
        var recent: (problem: FileProblem, until: Duration)?
        /// How often preparing or storing failed without anybody waiting, and when it is tried again.
        var failedTries = 0
        var nextTry: Duration?
    }

    /// What a read finds.
    enum Place: Hashable, Sendable {
        /// In the cache, from this position of the stream on.
        case stream(UInt64)
        case whole
        case notYet
        case failed(FileProblem)
    }

    struct Flight: Sendable {
        var file: FileID
        var generation: Generation
        var chunk: Int
        var bytes: UInt64
        var relay: String
        var start: Duration
        /// When it began, or when bytes of it last came.
        var lastSign: Duration
        /// Nobody waited for it, and nobody was near it.
        var isBackground: Bool
        /// Some of it has come.
        var hasBytes = false
        /// It was told to end. It keeps its place until it has.
        var isCancelled = false
        /// It has arrived; its memory is still in use.
        var isHere = false

        func isOf(_ id: FileID, _ generation: Generation, _ chunk: Int) -> Bool {
            file == id && self.generation == generation && self.chunk == chunk
        }
    }
}

extension FileStatus {
    /// Offered, with the description at hand: it can be claimed.
    var isDescribed: Bool { self == .rcvInvitation(described: true) }

    /// Whether bytes have come since.
    func hasMore(than before: FileStatus) -> Bool {
        guard case .rcvTransfer(let received, _) = self else { return false }
        if case .rcvTransfer(let known, _) = before { return received > known }
        return received > 0
    }

    /// Why the bytes will not come by themselves.
    var problem: FileProblem? {
        switch self {
        case .rcvError(let problem), .rcvWarning(let problem), .rcvAborted(let problem): problem
        case .rcvCancelled:
            FileProblem(
                .cancelledBySender, "The file was cancelled, by its sender or in another program of yours.")
        default: nil
        }
    }
}
