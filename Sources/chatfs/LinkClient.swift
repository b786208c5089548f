import ChatCore
import CommandLineKit
import Desktop
import Posix

/// The common part of the link commands.
enum LinkClient {
    /// The argument of commands on an entry.
    static let entry = Argument(
        "PATH|NAME", .file, "A file in the folder Links of a mount, or its name as 'list' prints it.")

    /// Carries out a request through the daemon of the mount, or a core of this process.
    static func carryOut(
        _ request: LinkRequest, _ invocation: Invocation
    ) async throws -> [LinkDescription] {
        try await ProfileAccess(invocation).use { daemon in
            try await ThreadPool.shared.run { () throws(DesktopError) in try daemon.link(request) }
        } core: { core in
            if request.action != .list { return try await request.carryOut(on: core) }
            var (request, links) = (request, [LinkDescription]())
            while true {
                let part = try await request.carryOut(on: core)
                guard let last = part.last else { return links }
                links += part
                request.before = last.number
            }
        }
    }
}
