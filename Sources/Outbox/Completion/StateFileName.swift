/// Names of files in which programs note about another file beside it how far it is: that one is unfinished for as long
/// as they are there.
enum StateFileName {
    /// aria2, axel, lftp's pget, yt-dlp.
    private static let suffixes = [".aria2", ".st", ".lftp-pget-status", ".ytdl"].map { Array($0.utf8) }

    /// The names that such a file about `name` may have.
    static func about(_ name: [UInt8]) -> [[UInt8]] { suffixes.map { name + $0 } }

    /// The file that one of this name would be about; nil where it is no such name.
    static func subject(of name: [UInt8]) -> [UInt8]? {
        suffixes.first { name.count > $0.count && name.suffix($0.count).elementsEqual($0) }.map {
            Array(name.dropLast($0.count))
        }
    }
}
