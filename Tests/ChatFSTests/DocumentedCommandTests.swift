import Glibc
import Posix
import Testing

@testable import CommandLineKit
@testable import chatfs

/// Compares the commands in README.md, docs/user and docs/reference with the table of commands.
@Suite("Commands in user pages")
struct DocumentedCommandTests {
    private static func pages() throws -> [String] {
        try ["docs/user", "docs/reference"].flatMap { folder in
            try PrivateFolder.names(in: OpenFile(LayeringTests.root + "/" + folder, flags: O_RDONLY))
                .filter { $0.hasSuffix(".md") }.map { folder + "/" + $0 }
        } + ["README.md"]
    }

    @Test func exampleLinesParse() throws {
        var count = 0
        for page in try Self.pages() {
            for line in try Self.exampleLines(of: page) {
                count += 1
                do throws(Parser.Failure) {
                    _ = try Parser.parse(Array(Self.ownWords(of: line)), of: ChatFS.program)
                } catch {
                    Issue.record("\(page): \(line): \(error.error.sentence)")
                }
            }
        }
        #expect(count > 15)
    }

    @Test func namedCommandsAndOptionsExist() throws {
        var count = 0
        for page in try Self.pages() {
            for match in try DeveloperPages.text(page).matches(of: /`(chatfs [^`\n]+)`/) {
                count += 1
                Self.check(Self.ownWords(of: String(match.1)), in: page)
            }
        }
        #expect(count > 100)
    }

    /// Lines of code blocks that call chatfs, without prompts and comments.
    private static func exampleLines(of page: String) throws -> [String] {
        var isCode = false
        return try DeveloperPages.text(page).split(separator: "\n").compactMap { line in
            if line.hasPrefix("```") { isCode.toggle() }
            let line = line.hasPrefix("$ ") ? line.dropFirst(2) : line
            guard isCode, line.hasPrefix("chatfs ") else { return nil }
            return String(line.split(separator: "  #", maxSplits: 1)[0])
        }
    }

    /// The words behind `chatfs`, up to a pipe or a redirection.
    private static func ownWords(of line: String) -> ArraySlice<String> {
        CommandTableTests.words(line).dropFirst().prefix { word in
            !["|", ">", "<", "&&", ";", "&"].contains(word) && !word.hasSuffix("<FILE")
        }
    }

    /// Checks the command and its options; arguments may be missing in a sentence.
    private static func check(_ words: ArraySlice<String>, in page: String) {
        var command = ChatFS.program
        for word in words {
            if word.hasPrefix("--") {
                // `chatfs relay --listen …` means its unnamed subcommand.
                let unnamed = command.subcommands.first { $0.name == command.unnamed }
                let options = Help.allOptions(of: command, isProgram: command.name == ChatFS.program.name)
                let name = word.dropFirst(2).prefix { $0 != "=" }
                let isKnown = (options + (unnamed?.options ?? [])).contains { $0.name == name }
                #expect(isKnown, "\(page): \(command.name) has no option \(word)")
            } else if let subcommand = command.subcommands.first(where: { $0.name == word }) {
                command = subcommand
            } else if word.first?.isLowercase == true {
                #expect(command.subcommands.isEmpty, "\(page): \(command.name) has no command \(word)")
            }
        }
    }
}
