import Base
import ChatCore
import CoreServices
import Cryptography
import Posix
import XFTP

/// Reads the description of a link. Missing facts come from its relays, with the permission of the user's command: the
/// description behind it, and the first chunk for name and size in the file's header.
struct LinkReader: Sendable {
    let core: any ChatCore
    let client: XFTPClient
    /// Permits receiving from relays. Blocks.
    let approve: @Sendable ([RelayAddress]) throws -> Void

    private static let timeout = Duration.seconds(45)

    static func parse(_ text: String) async throws(ChatError) -> FileLink {
        try await mapped { () async throws(XFTPError) in try await FileLink.parse(text) }
    }

    /// Equal for both forms of one link.
    static func digest(of link: FileLink) -> [UInt8] { SHA256.hash(Array(link.fileDescription.text.utf8)) }

    /// - Parameters:
    ///   - name: A name in place of the sender's.
    ///   - approving: Whether relays outside the own network are approved, those of the link before they are contacted,
    ///     and those of the file.
    func read(
        _ link: FileLink, named name: String?, approving: Bool
    ) async throws(ChatError) -> LinkTable.Addition {
        guard link.fileDescription.party == .recipient else {
            throw ChatError(
                .file(.damaged), "This is the sender's own description: it is no link for others.")
        }
        let facts = LinkFacts(link.data)
        let work = Task { () async -> Result<(FileDescription, LinkFacts), ChatError> in
            do throws(ChatError) {
                let described = try await follow(link.fileDescription, approving: approving)
                return .success((described, try await complete(facts, of: described, approving: approving)))
            } catch {
                return .failure(error)
            }
        }
        guard case .success(let outcome)? = await work.result(within: Self.timeout) else {
            work.cancel()
            throw ChatError(
                .file(.timedOut), "The relays of the link did not answer in time: try again later.")
        }
        let (described, found) = try outcome.get()
        guard let size = found.size, let original = found.name else {
            throw ChatError(.file(.damaged), "The link's file has neither name nor size.")
        }
        guard size <= FilePolicy.standaloneLimit else {
            throw ChatError(
                .tooLarge, "The file is larger than \(ByteCount.rounded(FilePolicy.standaloneLimit)).")
        }
        guard ChunkPlan.fits(streamSize: described.size, content: size) else {
            throw ChatError(.file(.damaged), "The size in the link is impossible for its file.")
        }
        let direct = described.text
        return LinkTable.Addition(
            digest: Self.digest(of: link), name: name.flatMap(SafeFileName.make(from:)) ?? original,
            size: size,
            link: link.text, description: direct, expires: found.expires)
    }

    /// The description of the file itself.
    private func follow(
        _ description: FileDescription, approving: Bool
    ) async throws(ChatError) -> FileDescription {
        guard description.redirect != nil else {
            if approving { try await allow(description.relays) }
            return description
        }
        try await permit(description, approving: approving)
        let found = try await Self.mapped { () async throws(XFTPError) in
            try await FileDownload.followRedirect(description, client: client)
        }
        guard found.party == .recipient else {
            throw ChatError(.file(.damaged), "The link does not lead to a file for its recipient.")
        }
        if approving { try await allow(found.relays) }
        return found
    }

    private func complete(
        _ facts: LinkFacts, of description: FileDescription, approving: Bool
    ) async throws(ChatError) -> LinkFacts {
        guard facts.name == nil || facts.size == nil else { return facts }
        try await permit(description, approving: approving)
        let header = try await Self.mapped { () async throws(XFTPError) in
            let reader = try ChunkwiseReader(description, client: client)
            let buffer = ChunkBuffer(capacity: Int(description.chunks[0].size))
            try await reader.fetch(chunk: 0, into: buffer)
            return try reader.header(inFirstChunk: buffer)
        }
        var facts = facts
        facts.name = facts.name ?? SafeFileName.make(from: header.name) ?? "file"
        facts.size = header.contentSize
        return facts
    }

    /// Contacts relays only if the user configured or approved them, perhaps by this command.
    private func permit(_ description: FileDescription, approving: Bool) async throws(ChatError) {
        if approving { try await allow(description.relays) }
        var direct = description
        direct.redirect = nil
        try await core.checkRelays(of: direct.text)
    }

    /// Approves the relays of a link. A relay inside the own network needs an approval by its address (`chatfs
    /// approve`): the link's author chose it, and the user may not have seen it.
    private func allow(_ relays: [RelayAddress]) async throws(ChatError) {
        let outside = relays.filter { !$0.leadsIntoOwnNetwork }
        guard !outside.isEmpty else { return }
        try await blocking.run { [approve] in try approve(outside.map(\.withoutPassword)) }
    }

    private static func mapped<Result: Sendable>(
        _ body: () async throws(XFTPError) -> Result
    ) async throws(ChatError) -> Result {
        do throws(XFTPError) {
            return try await body()
        } catch {
            throw ChatError(.file(FileProblem.Kind(error.code)), error.sentence, cause: error)
        }
    }
}
