import Base
import FileSystem
import Posix

/// Sentences about work that waits for the network.
enum WaitingWords {
    /// Lines for `chatfs status`, indented.
    static func lines(_ waiting: MountStatus.Waiting?) -> [String] {
        guard let waiting else { return [] }
        var lines = waiting.servers.map { "  " + sentence($0) }
        lines += (waiting.refused ?? []).map {
            "  not connected to a messaging server inside your own network, named by a contact: approve it only if "
                + "you know it, with 'chatfs approve \($0)'"
        }
        lines += waiting.messages.map {
            "  \(counted($0.count, "message")) of \($0.chat) \($0.count == 1 ? "waits" : "wait") for a messaging "
                + "server; the texts are in .chatfs/messages/\($0.chat).jsonl"
        }
        if waiting.invitations > 0 {
            lines.append("  \(counted(waiting.invitations, "unused invitation"))")
        }
        if waiting.requests > 0 {
            lines.append("  \(counted(waiting.requests, "pending request")): see 'chatfs requests'")
        }
        return lines
    }

    /// Describes one server with time and reason.
    static func sentence(_ server: MountStatus.Waiting.Server) -> String {
        return
            "messaging server \(server.server) unreachable since \(Timestamp(seconds: server.since).iso8601): \(server.problem)"
    }
}
