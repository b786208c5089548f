import Base
import ChatCore
import Glibc
import Namespace
import Posix

/// Collects the content of `status.json` and `transfers`. The core lists unsettled items, so the cost does not grow
/// with the history. Stateless.
struct StatusReport: Sendable {
    let names: Namespace
    let contents: any ContentStore
    let core: any ChatCore
    let loader: FolderLoader
    let nodes: NodeLookup
    let entries: EntryReporter
    let kernel: KernelConnection
    let callers: CallerCheck
    let settings: FileSystemSettings
    let beginning: Timestamp
    let last: LastProblem
    private var profile: Profile { core.profile }
    private let log = Log("filesystem")

    /// Excludes `.chatfs` and the folder of links.
    private var chatCount: Int {
        names.folderCount(of: .root) - 1 - (names.node(of: ChatReference.links) == nil ? 0 : 1)
    }

    /// Returns the mount's current state. Logs and omits data that the core fails to report.
    func status(coreProblem: String?) async -> MountStatus {
        let side = kernel.side
        let drafts = names.drafts + nodes.pasted.roots
        let present = contents.present()
        var status = MountStatus(
            profile: profile.displayName, mountpoint: settings.mountpoint,
            controlFolder: settings.controlFolder, programSocket: settings.programSocket, pid: getpid(),
            mountedAt: beginning.seconds,
            chats: chatCount, entries: drafts.count, entriesInMemory: names.itemCount,
            cachedBytes: 0, requests: side?.requests ?? 0, coreProblem: coreProblem, transfers: [],
            kernel: side, callers: callers.counts)
        status.lastError = last.value
        status.silentChats = chats(with: \.receivingProblem)
        status.changedKeys = chats(with: \.verification.warning)
        for case let file? in present.map(\.file) {
            status.cachedBytes += contents.condition(of: file.id).cached
        }
        var items = present
        do throws(ChatError) {
            status.entries += try await core.itemCount()
            let known = Set(present.map(\.id))
            items += try await core.unsettledItems().filter { !known.contains($0.id) }
        } catch {
            log.warning("unsettled items not listed: error=\(error.sentence)")
        }
        status.transfers = drafts.compactMap(transfer) + (await transfers(of: items))
        return status
    }

    /// Returns the chats for which `problem` returns a sentence; nil if there are none.
    private func chats(with problem: (Chat) -> String?) -> [MountStatus.SilentChat]? {
        let found = names.chats.compactMap { node -> MountStatus.SilentChat? in
            guard case .chat(let chat) = node.content, let problem = problem(chat) else { return nil }
            return MountStatus.SilentChat(chat: names.path(of: node), problem: problem)
        }
        return found.isEmpty ? nil : found.sorted { $0.chat < $1.chat }
    }

    private func transfers(of items: [ChatItem]) async -> [MountStatus.Transfer] {
        var transfers: [MountStatus.Transfer] = []
        for (chat, items) in Dictionary(grouping: items.filter(entries.isTransfer), by: \.chat) {
            do {
                // An item of a chat that was never loaded has no name.
                if items.contains(where: { names.node(of: $0.id) == nil }) { try await load(chat) }
                transfers += items.compactMap { names.node(of: $0.id).flatMap(transfer) }
            } catch {
                log.warning("chat omitted from status: error=\(Base.sentence(of: error))")
            }
        }
        return transfers.sorted { $0.path < $1.path }
    }

    private func load(_ chat: ChatReference) async throws {
        let loading = Task { [loader] in try await loader.load(chat) }
        guard let result = await loading.result(within: settings.readDeadline) else {
            throw FileSystemError(ETIMEDOUT)
        }
        try result.get()
    }

    /// Returns nil unless the entry is transferring, waiting or failed.
    private func transfer(_ node: Node) -> MountStatus.Transfer? {
        guard let report = entries.report(on: node), report.isTransfer else { return nil }
        return MountStatus.Transfer(
            path: names.path(of: node), state: report.state.rawValue, progress: report.progress,
            size: size(of: node), error: report.problem,
            waitsFor: report.problem == nil ? report.wait : nil)
    }

    private func size(of node: Node) -> UInt64 {
        switch node.content {
        case .item(let item): item.file?.size ?? 0
        case .draft(let id): nodes.draft(id, at: node.id)?.snapshot.size ?? 0
        case .pastedFolder:
            nodes.pasted.contents(of: node.id).map(\.node).reduce(0) { sum, part in
                if case .draft = part.content { sum + size(of: part) } else { sum }
            }
        case .root, .control, .status, .transfers, .recovered, .marker, .chat, .thumbnails, .thumbnail,
            .messages, .messageLog:
            0
        }
    }
}
