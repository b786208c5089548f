/// Names of state files: a download program records in such a file how complete the file beside it is. The
/// other file is unfinished while its state file exists.
enum StateFileName {
    /// aria2, axel, lftp's pget, yt-dlp.
    private static let suffixes = [".aria2", ".st", ".lftp-pget-status", ".ytdl"].map { Array($0.utf8) }

    /// Possible names of state files about `name`.
    static func about(_ name: [UInt8]) -> [[UInt8]] { suffixes.map { name + $0 } }

    /// The subject of a state file, or nil for other names.
    static func subject(of name: [UInt8]) -> [UInt8]? {
        suffixes.first { name.count > $0.count && name.suffix($0.count).elementsEqual($0) }.map {
            Array(name.dropLast($0.count))
        }
    }
}
