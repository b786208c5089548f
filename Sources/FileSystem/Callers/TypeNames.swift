import ChatCore
import Glibc
import Posix

/// Tells which file names settle the type of a file for the programs of a desktop. A window that lists a folder opens
/// the files of all others and reads how they begin.
///
/// The patterns are those of shared-mime-info (`mime/globs2` in the data folders), which GIO and Qt use. A value
/// without input and output; any thread.
public struct TypeNames: Sendable {
    /// The end of a name in lower case, as `.tar.gz`, and whether all patterns that have it name one type.
    private var endings: [ArraySlice<UInt8>: Ending] = [:]
    /// Whole names.
    private var names: [ArraySlice<UInt8>: Ending] = [:]
    /// Beginnings, as of `readme*`, which compete with the ending.
    private var beginnings: [[UInt8]] = []

    private struct Ending {
        let type: ArraySlice<UInt8>
        var isSingle = true

        mutating func add(_ other: ArraySlice<UInt8>) { if other != type { isSingle = false } }
    }

    /// No pattern is longer, but for a few that no name has.
    private static let longestEnding = 32
    /// Of the database of a user with many programs; a longer file is read so far.
    private static let maxBytes = 4 << 20

    /// - Parameter globs: the text of a `globs2` file: lines of weight, type and pattern.
    public init(globs: [UInt8] = []) {
        for line in globs.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 3)
            if fields.count >= 3 { add(Self.lowercased(fields[2])[...], fields[1]) }
        }
    }

    /// Those that are installed on this machine and by this user. Reads files.
    public static func ofDesktop() -> TypeNames {
        let home = environment("XDG_DATA_HOME") ?? environment("HOME").map { $0 + "/.local/share" }
        return ofDesktop(
            dataFolders: environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share", home: home)
    }

    /// - Parameters:
    ///   - dataFolders: paths with colons between them.
    ///   - home: that of the user; nil: there is none.
    static func ofDesktop(dataFolders: String, home: String?) -> TypeNames {
        let folders = (home.map { [$0] } ?? []) + dataFolders.split(separator: ":").map(String.init)
        var globs: [UInt8] = []
        for folder in folders {
            guard let file = try? OpenFile(folder + "/mime/globs2", flags: O_RDONLY),
                let bytes = try? file.read(count: maxBytes, at: 0)
            else { continue }
            globs += bytes + [UInt8(ascii: "\n")]
        }
        return TypeNames(globs: globs)
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Without a desktop nobody asks, but for programs that bring their own.
    private var isEmpty: Bool { endings.isEmpty && names.isEmpty }

    /// Whether a file of this name has its type from that alone.
    public func settles(_ name: some Sequence<UInt8>) -> Bool {
        let name = Self.lowercased(name)
        if isEmpty { return MediaType(fileName: String(decoding: name, as: UTF8.self)) != .unknown }
        if let whole = names[name[...]] { return whole.isSingle }
        // Their text is read for a name and an icon to show, whatever type they have.
        if Self.launchers.contains(where: { name.suffix($0.count).elementsEqual($0) }) { return false }
        if beginnings.contains(where: { name.starts(with: $0) }) { return false }
        for start in max(0, name.count - Self.longestEnding)..<name.count {
            if let ending = endings[name[start...]] { return ending.isSingle }
        }
        return false
    }

    private static let launchers = [Array(".desktop".utf8), Array(".directory".utf8)]

    private mutating func add(_ pattern: ArraySlice<UInt8>, _ type: ArraySlice<UInt8>) {
        let star = UInt8(ascii: "*")
        let isPlain = { (part: ArraySlice<UInt8>) in
            !part.contains { $0 == star || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "[") }
        }
        if pattern.first == star, isPlain(pattern.dropFirst()) {
            endings[pattern.dropFirst(), default: Ending(type: type)].add(type)
        } else if pattern.last == star, isPlain(pattern.dropLast()) {
            beginnings.append(Array(pattern.dropLast()))
        } else if isPlain(pattern) {
            names[pattern, default: Ending(type: type)].add(type)
        }
    }

    private static func lowercased(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 + 32 : $0 }
    }
}
