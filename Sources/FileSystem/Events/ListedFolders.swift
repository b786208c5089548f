import Namespace

/// Holds notices of folders that are being listed until that has come to rest. GTK 3 adds a file to its dialog for each
/// event of inotify(7), and once more when its listing reaches it (`gtkfilesystemmodel.c`): told meanwhile, a file is
/// there twice. A value without input and output.
///
/// A folder counts as listed for `pause` after the last request of its listing. Its notices are held in order, and the
/// first for `limit` at most, so that a folder that is listed again and again is told of all the same.
struct ListedFolders: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Held {
        var since: Instant
        var notices: [WatcherNotice] = []
    }

    /// Folders of which somebody asked for entries lately, and when.
    private var listed: [NodeID: Instant] = [:]
    private var held: [NodeID: Held] = [:]

    static let pause = Duration.milliseconds(500)
    static let limit = Duration.seconds(2)
    /// So many are looked through for what is long past.
    private static let sweepSize = 64

    mutating func listed(_ folder: NodeID, now: Instant) {
        if listed.count >= Self.sweepSize { listed = listed.filter { $0.value + Self.pause > now } }
        listed[folder] = now
    }

    /// False where it is to be told now.
    mutating func hold(_ notice: WatcherNotice, now: Instant) -> Bool {
        let folder = notice.folder
        if held[folder] == nil {
            guard let last = listed[folder], last + Self.pause > now else { return false }
            held[folder] = Held(since: now)
        }
        held[folder]?.notices.append(notice)
        return true
    }

    /// What is to be told now, those of one folder in order.
    mutating func takeDue(now: Instant) -> [WatcherNotice] {
        var due: [WatcherNotice] = []
        for (folder, one) in held where end(of: folder, one) <= now {
            held[folder] = nil
            due += one.notices
        }
        return due
    }

    /// When the next one is due; nil where none is held.
    var nextDue: Instant? { held.map { end(of: $0.key, $0.value) }.min() }

    private func end(of folder: NodeID, _ held: Held) -> Instant {
        min(held.since + Self.limit, listed[folder].map { $0 + Self.pause } ?? held.since)
    }
}
