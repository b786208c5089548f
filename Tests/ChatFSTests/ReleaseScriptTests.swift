import TestSupport
import Testing

/// `contrib/release` on a small repository, without packages.
@Suite("The script contrib/release")
struct ReleaseScriptTests {
    private static let root = LayeringTests.root
    private static let changes = """
        # Changes

        ## 0.1.10 (2027-01-02)

        * Ten.

        ## 0.1.1 (2027-01-01)

        * One.

        """

    /// Makes the release of a commit of version 0.1.1.
    private func release(_ name: String, changes: String = Self.changes) async throws -> (
        folder: TemporaryFolder, outcome: Shell.Outcome
    ) {
        let folder = try TemporaryFolder()
        for name in ["source", "source/contrib", "source/Sources", "source/Sources/chatfs"] {
            _ = try folder.makeFolder(name)
        }
        try folder.write(Array(changes.utf8), to: "source/CHANGELOG.md")
        try folder.write(
            Array("    static let version = \"0.1.1\"\n".utf8), to: "source/Sources/chatfs/Release.swift")
        let outcome = try await Shell.script(
            """
            set -e
            for part in prepare release release-parts; do cp -r '\(Self.root)/contrib/'$part contrib; done
            export GIT_AUTHOR_DATE='2027-01-01T00:00:00Z' GIT_COMMITTER_DATE='2027-01-01T00:00:00Z'
            git init --quiet
            git add .
            git -c user.name=a -c user.email=a@example.org commit --quiet --message=a
            git tag v0.1.1
            contrib/release --suites '' \(name) ../first
            contrib/release --suites '' \(name) ../second
            """, folder: folder.path("source"))
        return (folder, outcome)
    }

    @Test func notesAreThoseOfTheVersionAlone() async throws {
        let (folder, outcome) = try await release("v0.1.1")
        try #require(outcome.succeeded, "\(outcome.errors)")
        let notes = String(decoding: try folder.read("first/NOTES.md"), as: UTF8.self)
        #expect(notes == "## 0.1.1 (2027-01-01)\n\n* One.\n")
        let missing = try await release("v0.1.1", changes: "# Changes\n\n## 0.1.10\n\n* Ten.\n").outcome
        #expect(missing.ending == .code(65) && missing.errors.contains("nothing about 0.1.1"))
        let wrong = try await release("v0.1.10").outcome
        #expect(wrong.ending == .code(65) && wrong.errors.contains("no commit 'v0.1.10'"))
    }

    @Test func oneCommitMakesEqualBytes() async throws {
        let (folder, outcome) = try await release("HEAD")
        try #require(outcome.succeeded, "\(outcome.errors)")
        let compared = try await Shell.script(
            """
            set -e
            cmp first/SHA256SUMS second/SHA256SUMS
            for name in first second; do (cd $name && sha256sum --check --strict --quiet SHA256SUMS); done
            tar -xJf first/chatfs-0.1.1.tar.xz
            cat chatfs-0.1.1/.commit
            """, folder: folder.path)
        #expect(compared.succeeded, "\(compared.errors)")
        #expect(compared.output.utf8.count == 41, "a commit and a line end: \(compared.output)")
        let names = ["NOTES.md", "SHA256SUMS", "chatfs-0.1.1.spdx.json", "chatfs-0.1.1.tar.xz"]
        #expect(try folder.names(in: "first").sorted() == names)
    }
}
