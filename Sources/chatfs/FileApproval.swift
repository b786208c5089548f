import CommandLineKit
import Desktop
import Glibc
import Posix

/// `chatfs approve FILE`: approves the servers named in a file's error, through the mount that shows it.
enum FileApproval {
    /// - Throws: An error for a file that waits for no approval; earlier files are approved.
    static func approve(_ paths: [String]) async throws {
        for path in paths {
            let (mounted, addresses) = try await ThreadPool.shared.run {
                () throws(any Error) -> (Mounted, [String]) in
                let place = MountedEntry.place(path)
                let found = MountedEntry.all(at: place)
                if let problem = found.problems.first { throw problem }
                guard let entry = found.entries.first, found.entries.count == 1, entry.path == place else {
                    throw UsageError("'\(path)' is a folder; name the files")
                }
                let error = try naming(path) { try ExtendedAttribute.text("user.chatfs.error", of: place) }
                return (entry.mounted, Self.addresses(in: error ?? ""))
            }
            guard let approved = ApprovedServers(addresses), !addresses.isEmpty else {
                throw Refusal("\(path): The file does not wait for an approval.")
            }
            let client = try await ProgramConnection.client(of: mounted)
            let all = approved.relays.map(\.text) + approved.servers.map(\.text)
            try await ThreadPool.shared.run { try client.approve(all) }
            for address in all { Terminal.note("chatfs: approved \(address)") }
        }
    }

    /// Returns true if a word that is no address is, or was meant as, a path. Blocks briefly.
    static func canBePath(_ word: String) -> Bool {
        var status = stat()
        return lstat(MountedEntry.place(word), &status) == 0 || word.contains("/") && !word.contains("://")
    }

    /// Returns the server addresses in a sentence.
    static func addresses(in sentence: String) -> [String] {
        sentence.split(separator: " ").map { word in
            var word = word
            while let first = word.first, "'\"(<".contains(first) { word.removeFirst() }
            while let last = word.last, "'\".,:;)>".contains(last) { word.removeLast() }
            return String(word)
        }.filter { $0.hasPrefix("xftp://") || $0.hasPrefix("smp://") }
    }
}
