import ChatCore
import Glibc

extension EmbeddedCore {
    public func claimFile(
        _ file: FileID, approvedRelays: Bool
    ) async throws(ChatError) -> ClaimedFile? {
        guard !desk.isBusy(with: file) else { return nil }
        guard desk.claim(file) else { throw Self.alreadyReceiving }
        do throws(ChatError) {
            let description = try await work { [self] in
                let isOffered = try read { context in
                    let offer = try offer(file, context.connection)
                    try refuseDeadEnd(offer)
                    return offer.isDescribed
                        && ["rcv_invitation", "rcv_aborted"].contains(offer.status)
                }
                guard isOffered, let text = try descriptionText(of: file) else { return nil as String? }
                let description = parsed(text)
                try read { try check(description, approvedNow: approvedRelays, $0.connection) }
                return text
            }
            if let description {
                let remains = try await work { [damaged] in damaged.remains(of: file) }
                return ClaimedFile(description: description, remains: remains)
            }
            desk.endClaim(file)
            return nil
        } catch {
            desk.endClaim(file)
            throw error
        }
    }

    public func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        defer { desk.endClaim(file) }
        return try await work { [self] in
            do {
                return try store(staged, of: file)
            } catch {
                unlink(staged.path)
                throw error
            }
        }
    }

    public func abandonClaim(_ file: FileID, problem: FileProblem?) async {
        desk.endClaim(file)
        guard let problem, problem.isFinal else { return }
        await attempt("note why a file cannot be received") { [self] in
            try commit { change in
                guard
                    try change.setStatus(
                        "rcv_error", ofFile: file.rawValue, from: ["rcv_invitation", "rcv_aborted"],
                        problem: problem)
                else { return }
                try change.tell({ .rcvFileError($0, problem) }, ofFile: file.rawValue)
            }
        }
    }
}
