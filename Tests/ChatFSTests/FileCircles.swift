/// Finds circles of files within a module, as far as names show.
///
/// A file needs the file that declares a mentioned type. A nested type and a static member declared by an extension
/// belong to the extension's file. Invisible are instance members and global functions.
struct FileCircles {
    private struct Member: Hashable {
        var type: String
        var name: String
    }

    private struct Mention: Hashable {
        var type: String
        /// The mentioned member.
        var member: String?
    }

    private struct Content {
        /// Types declared in the file, which hide other files' types.
        var own: Set<String> = []
        /// Types declared or extended in the file.
        var extended: Set<String> = []
        var mentions: Set<Mention> = []
    }

    private var contents: [String: Content] = [:]
    /// Files by the types visible in the whole module.
    private var types: [String: Set<String>] = [:]
    private var members: [Member: Set<String>] = [:]

    /// - Parameter files: Sources of a module by name.
    init(_ files: [String: String]) {
        for (file, text) in files { read(SourceTokens(text).tokens, of: file) }
    }

    /// Circles as sorted lists of file names.
    var circles: Set<[String]> {
        let needed = Dictionary(uniqueKeysWithValues: contents.keys.map { ($0, needs(of: $0)) })
        var reached: [String: Set<String>] = [:]
        for file in contents.keys {
            var (found, waiting): (Set<String>, [String]) = ([], [file])
            while let next = waiting.popLast() {
                for other in needed[next] ?? [] where found.insert(other).inserted { waiting.append(other) }
            }
            reached[file] = found
        }
        let circles = contents.keys.map { file in
            (reached[file] ?? []).filter { reached[$0]?.contains(file) == true }.sorted()
        }
        return Set(circles.filter { $0.count > 1 })
    }

    private func needs(of file: String) -> Set<String> {
        guard let content = contents[file] else { return [] }
        var needed: Set<String> = []
        for mention in content.mentions where !content.own.contains(mention.type) {
            if let declaring = types[mention.type] {
                // A name declared in several files is private to each.
                guard declaring.count == 1 else { continue }
                let extending = mention.member.map { files(of: Member(type: mention.type, name: $0)) } ?? []
                needed.formUnion(extending.isEmpty ? declaring : extending)
            } else {
                // A nested type without its outer type's name.
                for type in content.extended {
                    needed.formUnion(files(of: Member(type: type, name: mention.type)))
                }
            }
        }
        return needed.subtracting([file])
    }

    /// Files of extensions with the member; none if the type declares it too.
    private func files(of member: Member) -> Set<String> {
        let files = members[member] ?? []
        return files.isDisjoint(with: types[member.type] ?? []) ? files : []
    }

    // MARK: - Parsing

    private enum Keyword {
        case kind, modifier, member
    }

    private static let keywords: [String: Keyword] = {
        let kinds = ["struct", "class", "enum", "actor", "protocol", "typealias", "extension"]
        let modifiers = [
            "public", "internal", "package", "private", "fileprivate", "final", "indirect", "static",
            "nonisolated", "unsafe", "set",
        ]
        return Dictionary(
            kinds.map { ($0, .kind) } + modifiers.map { ($0, .modifier) }
                + ["let", "var", "func"].map { ($0, .member) }, uniquingKeysWith: { $1 })
    }()
    private static let hiding: Set = ["private", "fileprivate"]

    private mutating func read(_ tokens: [SourceTokens.Token], of file: String) {
        var content = Content()
        var depth = 0
        /// The type around the current position.
        var outer: String?
        var modifiers: Set<String> = []
        for (index, token) in tokens.enumerated() {
            switch token {
            case .mark("{"): (depth, modifiers) = (depth + 1, [])
            case .mark("}"): (depth, modifiers) = (depth - 1, [])
            case .mark: break
            case .word(let word):
                let keyword = Self.keywords[word]
                if keyword == .modifier {
                    modifiers.insert(word)
                    continue
                }
                let given = modifiers
                if !given.isEmpty { modifiers = [] }
                guard keyword != nil || Self.isType(word) else { continue }
                if index > 0, tokens[index - 1] == .mark(".") { continue }
                let name = Self.word(tokens, index + 1)
                switch keyword {
                case .kind:
                    if depth == 0 { outer = name }
                    if let name { declare(name, as: word, given, depth, in: outer, file, &content) }
                case .member:
                    if let name, depth == 1, given.contains("static") {
                        addMember(name, of: outer, given, file)
                    }
                default:
                    content.mentions.insert(Mention(type: word, member: Self.member(tokens, index)))
                }
            }
        }
        contents[file] = content
    }

    private mutating func declare(
        _ name: String, as kind: String, _ modifiers: Set<String>, _ depth: Int, in outer: String?,
        _ file: String, _ content: inout Content
    ) {
        if depth == 0 { content.extended.insert(name) }
        if kind == "extension" { return }
        content.own.insert(name)
        if depth == 0, modifiers.isDisjoint(with: Self.hiding) { types[name, default: []].insert(file) }
        if depth == 1 { addMember(name, of: outer, modifiers, file) }
    }

    private mutating func addMember(
        _ name: String, of type: String?, _ modifiers: Set<String>, _ file: String
    ) {
        guard let type, modifiers.isDisjoint(with: Self.hiding) else { return }
        members[Member(type: type, name: name), default: []].insert(file)
    }

    private static func word(_ tokens: [SourceTokens.Token], _ index: Int) -> String? {
        guard index < tokens.count, case .word(let word) = tokens[index] else { return nil }
        return word
    }

    /// The member after the type at `index`.
    private static func member(_ tokens: [SourceTokens.Token], _ index: Int) -> String? {
        guard index + 1 < tokens.count, tokens[index + 1] == .mark(".") else { return nil }
        return word(tokens, index + 2)
    }

    private static func isType(_ word: String) -> Bool {
        word.utf8.first.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } == true
    }
}
