import TestSupport
import Testing

/// What `contrib/file-managers` has tests for in its own languages.
@Suite("Extensions of file managers")
struct FileManagerTests {
    @Test("offers, marks and answers are those that the tests of the extensions name")
    func unitTests() async throws {
        let tests = LayeringTests.root + "/contrib/file-managers/tests"
        let outcome = try await Shell.run(
            "python3", ["-B", "-W", "error", "-m", "unittest", "discover", "-s", tests],
            limit: .seconds(120))
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(outcome.errors.contains("OK"), "\(outcome.errors)")
    }
}
