import Base
import CommandLineKit
import Glibc
import Posix

/// The findings as a text for others: versions and findings, without names and addresses.
struct DoctorReport {
    /// Replacement for names and addresses.
    private static let mark = "***"

    let findings: [Finding]
    /// The version of the program and of its libraries, one per line.
    let versions: [String]
    /// The system's own name, such as `Debian GNU/Linux 13 (trixie)`; nil if it has none.
    let system: String?
    /// The home folder, absolute.
    let home: String
    /// Names of the user and of this machine.
    let own: [String]

    /// The report about this machine. Blocks.
    init(_ findings: [Finding]) {
        self.findings = findings
        versions = ["chatfs \(Release.version)"] + Release.details
        system = Self.system()
        home = getenv("HOME").map { String(cString: $0) } ?? "/"
        var host = [CChar](repeating: 0, count: 256)
        let isNamed = gethostname(&host, host.count - 1) == 0
        let name = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        own = (isNamed ? [name] : []) + [home.lastPathName].compactMap(\.self)
    }

    init(_ findings: [Finding], versions: [String], system: String?, home: String, own: [String]) {
        (self.findings, self.versions, self.system, self.home, self.own) = (
            findings, versions, system, home, own
        )
    }

    var lines: [String] {
        versions + [system ?? "unknown system"] + [""] + findings.map { line($0) }
    }

    private func line(_ finding: Finding) -> String {
        var text = finding.text
        if home != "/" { text = text.replacing(home, with: "~") }
        // Longest first, because one name may be part of another.
        let names = (finding.names + own).map { home == "/" ? $0 : $0.replacing(home, with: "~") }
        for name in names.filter({ !$0.isEmpty && $0 != "~" }).sorted(by: { $0.count > $1.count }) {
            text = Self.replacing(name, in: text)
        }
        var shown = finding
        shown.text = Self.withoutAddresses(text)
        return shown.line
    }

    /// Replaces whole words only, because a user name may be `a`.
    private static func replacing(_ name: String, in text: String) -> String {
        func isPart(_ character: Character?) -> Bool {
            character.map { $0.isLetter || $0.isNumber } ?? false
        }
        var result = ""
        var rest = Substring(text)
        while let range = rest.firstRange(of: name) {
            let before = rest[..<range.lowerBound]
            let isWord =
                !isPart(before.last ?? result.last) && !isPart(rest[range.upperBound...].first)
            result += String(before) + (isWord ? mark : name)
            rest = rest[range.upperBound...]
        }
        return result + String(rest)
    }

    /// Replaces links, host names with a port, and network addresses.
    static func withoutAddresses(_ text: String) -> String {
        text.replacing(/[a-z]+:\/\/[^\s,;)]+/, with: mark)
            .replacing(/[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+:[0-9]+/, with: mark)
            .replacing(/\[?[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}\]?(:[0-9]+)?/, with: mark)
            .replacing(/[0-9]{1,3}(\.[0-9]{1,3}){3}/, with: mark)
            .replacing(/[a-z2-7]{56}\.onion/, with: mark)
    }

    private static func system() -> String? {
        guard let file = try? OpenFile("/etc/os-release", flags: O_RDONLY),
            let bytes = try? file.readAll(limit: 65_536)
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix("PRETTY_NAME=") }.map {
            $0.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" }
        }
    }
}
