import Base
import ChatCore
import Configuration
import Desktop
import FileSystem
import Glibc
import Namespace
import Notifications
import Posix
import XFTP

/// Performs the actions of notification buttons, which equal the commands of the same names. Stateless.
struct NotificationActions: Sendable {
    let core: MountedCore
    let fileSystem: FileSystem
    let cacheRequests: CacheRequestHandler
    let mountpoint: String
    let permissions: RememberedPermissions
    /// Shows files in a desktop program.
    var reveal: @Sendable (FileLocation) -> Void = { _ in }

    /// Performs an action. Returns the reason for a failure as a sentence, or nil on success.
    func perform(_ action: NotificationAction) async -> String? {
        switch action {
        case .approve(let addresses): await approve(addresses)
        case .retry(let entries): await each(entries, retry)
        case .keep(let entries): await each(entries, keep)
        case .send(let entries): await each(entries, retry)
        case .discard(let entries): await each(entries, discard)
        case .open(let entry): await reveal([entry], opens: true)
        case .show(let entries): await reveal(entries, opens: false)
        case .showFolder(let chat): showFolder(chat)
        case .accept(let number): await answer("accepted") { _ = try await core.core.acceptRequest(number) }
        case .reject(let number): await answer("rejected") { try await core.core.rejectRequest(number) }
        // The notifier counts unread messages.
        case .markRead: nil
        case .permit(let remedy): await permit(remedy)
        }
    }

    private func approve(_ addresses: [String]) async -> String? {
        guard let approved = ApprovedServers(addresses) else { return "The address is invalid." }
        do {
            try await ThreadPool.shared.run { [core] in try core.approve(approved) }
            _ = try await cacheRequests.answer(CacheRequest(.tryAgain))
            return nil
        } catch {
            return "The relays could not be approved. \(Base.sentence(of: error))"
        }
    }

    private func permit(_ remedy: RefusalRemedy) async -> String? {
        fileSystem.permissions.permit(remedy.permission)
        do throws(ConfigurationError) {
            try await ThreadPool.shared.run { [permissions] () throws(ConfigurationError) in
                try permissions.remember(remedy.permission)
            }
            return nil
        } catch {
            return "This is permitted until the mount ends. It is not remembered: \(error.sentence)"
        }
    }

    private func retry(_ node: NodeID) async -> String? {
        let answer = fileSystem.setExtendedAttribute("user.chatfs.retry", [UInt8(ascii: "1")], of: node)
        return Self.problem(await answer.result(), "resent")
    }

    private func discard(_ node: NodeID) async -> String? {
        Self.problem(await fileSystem.discard(node).result(), "discarded")
    }

    private static func problem(_ result: Result<Void, FileSystemError>, _ word: String) -> String? {
        // EPERM: the file was written again or sent meanwhile.
        guard case .failure(let error) = result, error.code != EPERM else { return nil }
        return "The file could not be \(word). \(error.sentence)"
    }

    private func keep(_ node: NodeID) async -> String? {
        do throws(ProgramError) {
            _ = try await cacheRequests.answer(CacheRequest(.pin, entry: node.rawValue))
            return nil
        } catch {
            return error.sentence
        }
    }

    private func reveal(_ entries: [NotifiedEntry], opens: Bool) async -> String? {
        var paths: [String] = []
        for entry in entries {
            guard let node = await node(of: entry), let path = await fileSystem.lister.path(of: node) else {
                continue
            }
            paths.append("\(mountpoint)/\(path)")
        }
        guard !paths.isEmpty else { return "The file no longer exists." }
        reveal(FileLocation(paths, opens: opens))
        return nil
    }

    private func showFolder(_ chat: ChatReference) -> String? {
        guard let folder = fileSystem.lister.folder(of: chat) else {
            return "The chat no longer exists."
        }
        reveal(FileLocation(["\(mountpoint)/\(folder.name)"], opens: false))
        return nil
    }

    private func answer(_ word: String, _ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return "The request could not be \(word). \(Base.sentence(of: error))"
        }
    }

    private func node(of entry: NotifiedEntry) async -> NodeID? {
        switch entry {
        case .item(let id): await fileSystem.lister.number(of: id)
        case .draft(let id): fileSystem.lister.number(ofDraft: id)
        case .text, .request, .contact: nil
        }
    }

    /// Runs `body` for each entry and returns the last problem.
    private func each(
        _ entries: [NotifiedEntry], _ body: (NodeID) async -> String?
    ) async -> String? {
        var problem: String?
        for entry in entries {
            // A vanished entry needs no action.
            if let node = await node(of: entry), let found = await body(node) { problem = found }
        }
        return problem
    }
}
