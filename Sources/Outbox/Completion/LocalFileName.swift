/// Names of files that programs create for themselves, beside another file or before it. A name alone is no
/// proof, because a user may copy such a file; each row also needs evidence. `TemporaryName` has the names
/// that need none. `docs/user/sending.md` shows the table.
enum LocalFileName {
    /// The evidence needed besides the name.
    enum Evidence: Hashable, Sendable {
        /// `NAME` exists in the folder, and the draft was not written by a program that only copies or
        /// transfers files.
        case besideItsFile
        /// One of these programs wrote the draft, or `besideItsFile`.
        case writtenBy([String], orBesideItsFile: Bool)
    }

    struct Row: Sendable {
        /// Placeholders: `NAME` is another file's name, `EXT` an extension, `N` a number, `ID` letters,
        /// digits, `-` and `_`.
        let patterns: [String]
        /// The programs that create such files.
        let programs: String
        let evidence: Evidence
        let reason: HoldReason
        fileprivate let compiled: [Pattern]

        fileprivate init(_ patterns: [String], _ programs: String, _ evidence: Evidence, _ reason: HoldReason)
        {
            (self.patterns, self.programs, self.evidence, self.reason) = (
                patterns, programs, evidence, reason
            )
            compiled = patterns.map(Pattern.init)
        }
    }

    static let table: [Row] = [
        Row(
            ["NAME-wal", "NAME-shm", "NAME-journal", "NAME-lock"], "SQLite, LMDB", .besideItsFile, .sidecar),
        Row(["NAME.aux.xml", "NAME.ovr", "NAME.msk"], "GDAL, QGIS", .besideItsFile, .sidecar),
        Row(
            ["NAME.xmp", "NAME.pp3", "NAME.arp"], "darktable, digiKam, RawTherapee", .besideItsFile, .sidecar),
        Row(
            ["NAME.fai", "NAME.gzi", "NAME.bai", "NAME.csi", "NAME.tbi", "NAME.crai"], "samtools, tabix",
            .besideItsFile, .sidecar),
        Row(["NAME.ffindex", "NAME.lwi"], "VapourSynth, AviSynth", .besideItsFile, .sidecar),
        Row(["NAME.lock", "NAME.lck"], "programs that lock a file", .besideItsFile, .sidecar),
        Row(
            ["NAME.save", "NAME.save.N"], "nano, when its terminal is closed",
            .writtenBy(["nano", "rnano", "pico"], orBesideItsFile: true), .unsaved),
        Row(
            ["DEADJOE", "ed.hup"], "joe, ed, when their terminal is closed",
            .writtenBy(["joe", "jmacs", "jpico", "jstar", "rjoe", "ed", "red"], orBesideItsFile: false),
            .unsaved),
        Row(
            ["NAME.fID.EXT", "NAME.temp.EXT"], "yt-dlp, before it merges them",
            .writtenBy(
                ["yt-dlp", "yt_dlp", "youtube-dl", "youtube_dl"], orBesideItsFile: false), .part),
    ]

    /// Returns the reason why a draft is not sent automatically, or nil.
    /// - Parameters:
    ///   - writers: Evidence about the writers and the programs that started them.
    ///   - isThere: Returns true if the folder has a file of this name.
    static func reason(
        for name: [UInt8], writers: [WriterEvidence], isThere: ([UInt8]) -> Bool
    ) -> HoldReason? {
        let isCopy = writers.contains { !$0.program.kind.isUnknown }
        for row in table {
            for pattern in row.compiled {
                guard let base = pattern.base(of: name) else { continue }
                switch row.evidence {
                case .besideItsFile:
                    if !isCopy, isThere(base) { return row.reason }
                case .writtenBy(let programs, let orBeside):
                    if writers.contains(where: { programs.contains($0.program.name) }) { return row.reason }
                    if orBeside, !isCopy, isThere(base) { return row.reason }
                }
            }
        }
        return nil
    }
}

// MARK: - Patterns

extension LocalFileName {
    /// A parsed pattern: a sequence of literals and placeholders.
    fileprivate struct Pattern: Sendable {
        private enum Part: Hashable {
            case literal([UInt8])
            case name
            case identifier
            case number
            case fileExtension
        }

        private let parts: [Part]

        init(_ text: String) {
            var parts: [Part] = []
            var rest = Substring(text)
            let words: [(String, Part)] = [
                ("NAME", .name), ("EXT", .fileExtension), ("ID", .identifier), ("N", .number),
            ]
            // Without `NAME`, capital letters as in DEADJOE are literal.
            let hasName = text.contains("NAME")
            while !rest.isEmpty {
                if hasName, let (word, part) = words.first(where: { rest.hasPrefix($0.0) }) {
                    parts.append(part)
                    rest = rest.dropFirst(word.count)
                } else if case .literal(let bytes)? = parts.last {
                    parts[parts.count - 1] = .literal(bytes + Array(rest.prefix(1).utf8))
                    rest = rest.dropFirst()
                } else {
                    parts.append(.literal(Array(rest.prefix(1).utf8)))
                    rest = rest.dropFirst()
                }
            }
            self.parts = parts
        }

        /// Returns the bytes of `NAME` in a matching name, empty if the pattern has none, or nil if it does
        /// not match.
        func base(of name: [UInt8]) -> [UInt8]? {
            guard parts.first == .name else { return parts == [.literal(name)] ? [] : nil }
            // Matches from the end, because `NAME` may contain any bytes.
            var rest = name[...]
            for part in parts.dropFirst().reversed() {
                switch part {
                case .literal(let bytes):
                    guard rest.count > bytes.count, rest.suffix(bytes.count).elementsEqual(bytes) else {
                        return nil
                    }
                    rest = rest.dropLast(bytes.count)
                case .name: return nil
                case .identifier:
                    // The `f` before it is literal, and the last dot is before the `f`.
                    guard let dot = rest.lastIndex(of: UInt8(ascii: ".")) else { return nil }
                    let word = rest[(dot + 1)...]
                    guard word.count > 1, word.dropFirst().allSatisfy(Self.isOfIdentifier) else { return nil }
                    rest = rest.prefix(through: dot + 1)
                case .number: rest = Self.withoutRun(rest) { (48...57).contains($0) }
                case .fileExtension: rest = Self.withoutRun(rest, where: Self.isOfExtension)
                }
            }
            return rest.isEmpty || rest.count == name.count ? nil : Array(rest)
        }

        private static func withoutRun(
            _ bytes: ArraySlice<UInt8>, where isOf: (UInt8) -> Bool
        ) -> ArraySlice<UInt8> {
            let end = bytes.lastIndex { !isOf($0) } ?? bytes.startIndex
            // Without a match, the literal before it does not match either.
            return end == bytes.endIndex - 1 ? [] : bytes[...end]
        }

        private static func isOfExtension(_ byte: UInt8) -> Bool {
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        }

        private static func isOfIdentifier(_ byte: UInt8) -> Bool {
            isOfExtension(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
    }
}
