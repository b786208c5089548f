/// Names of files that programs make for themselves, beside a file of the chat or on the way to one: none of them is a
/// message by itself. The name alone does not say so, since somebody may copy in a file of such a name; what else has to
/// be known is the row's evidence. Names that need none are `TemporaryName`. `docs/user/sending.md` shows the table.
enum LocalFileName {
    /// What has to be known besides the name.
    enum Evidence: Hashable, Sendable {
        /// `NAME` lies beside it, and no program has written it that only copies or transfers files.
        case besideItsFile
        /// One of these programs has written it, or `besideItsFile`.
        case writtenBy([String], orBesideItsFile: Bool)
    }

    struct Row: Sendable {
        /// `NAME` is that of another file, `EXT` an extension, `N` a number, `ID` letters, digits, `-` and `_`.
        let patterns: [String]
        /// Who makes such files.
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

    /// Why a draft is not sent by itself; nil where nothing speaks against it.
    /// - Parameters:
    ///   - writers: what is known of those who wrote it, and of the programs that started these.
    ///   - isThere: whether a file of a name lies beside it.
    static func reason(
        for name: [UInt8], writers: [WriterEvidence], isThere: ([UInt8]) -> Bool
    ) -> HoldReason? {
        let isCopy = writers.contains { $0.program.kind != .ordinary }
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
    /// A pattern of the table: what stands before the first placeholder is literal, and so on.
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
            // A name in capital letters, such as DEADJOE, has no placeholder.
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

        /// What `NAME` is in a name; empty where the pattern has none; nil where it does not fit.
        func base(of name: [UInt8]) -> [UInt8]? {
            guard parts.first == .name else { return parts == [.literal(name)] ? [] : nil }
            // From its end: a name may hold anything.
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
                    // An `f` before it is literal: the last dot is where that begins.
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
            // Without any: a literal that follows finds nothing.
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
