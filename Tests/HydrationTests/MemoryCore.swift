import Base
import ChatCore
import Glibc

/// A core whose claims and files are controlled by the test.
final class MemoryCore: FileTransferring {
    struct State {
        var claims: [FileID: Result<String?, ChatError>] = [:]
        var claimCount = 0
        /// As the core, which refuses a second claim until the first one is given up.
        var refusesSecondClaims = false
        var claimed: Set<FileID> = []
        /// Claims are given up while it is open.
        var abandonGate: Gate?
        /// Claims are answered while it is open.
        var claimGate: Gate?
        var received: [FileID] = []
        var completed: [FileID: FileSourceLocation] = [:]
        var abandoned: [FileID: [FileProblem?]] = [:]
        var givenUp: [FileID] = []
        var completionFails: [ChatError] = []
        /// Completed files are not where the core says until the item is updated.
        var hidesCompleted = false
        /// True if the core downloads its own copy of claimed files.
        var receivesWhatIsClaimed = false
        /// Whether the core keeps what is claimed as it comes.
        var keepsStreams = false
    }

    let stagingFolder: String
    let state = Lock(State())
    let profile = Profile(id: 1, displayName: "alice")

    init(stagingFolder: String) { self.stagingFolder = stagingFolder }

    func claimFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) -> ClaimedFile? {
        let claim = try state.withLock { state throws(ChatError) in
            state.claimCount += 1
            guard state.claimed.insert(file).inserted || !state.refusesSecondClaims else {
                throw ChatError(.alreadyReceiving, "It is being received.")
            }
            return state.claims[file].map { ($0, state.receivesWhatIsClaimed, state.keepsStreams) }
        }
        // A cancelled claim is answered at once.
        try? await state.withLock { $0.claimGate }?.pass()
        guard let (claim, isReceived, keepsStream) = claim else {
            throw ChatError(.noSuchFile, "There is no such file.")
        }
        return try claim.get().map {
            ClaimedFile(description: $0, isReceivedByCore: isReceived, keepsStream: keepsStream)
        }
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
        return state.withLock { state in
            state.completed[file] = location
            return state.hidesCompleted
                ? FileSourceLocation(path: kept + ".later", arguments: staged.arguments) : location
        }
    }

    func abandonClaim(_ file: FileID, problem: FileProblem?) async {
        try? await state.withLock { $0.abandonGate }?.pass()
        state.withLock { state in
            state.claimed.remove(file)
            state.abandoned[file, default: []].append(problem)
        }
    }

    func giveUpCopy(
        of file: FileID, at location: FileSourceLocation
    ) async throws(ChatError) -> GivenUpCopy {
        state.withLock { $0.givenUp.append(file) }
        return .lost(.damagedCopy)
    }

    func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        state.withLock { $0.received.append(file) }
    }

    // Unused here.
    func events() -> AsyncStream<ChatEvent> { AsyncStream { $0.finish() } }
    private static let unused = ChatError(.invalidCommand, "This core only gives files.")
    func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) { throw Self.unused }
    func cancelFile(_ file: FileID) async throws(ChatError) { throw Self.unused }
}
