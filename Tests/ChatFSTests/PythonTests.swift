import TestSupport
import Testing

/// Parts of `contrib` with tests in Python.
@Suite("Python tests")
struct PythonTests {
    @Test(
        "the Python tests of contrib pass",
        arguments: ["file-managers", "desktop-parts", "test-parts", "prose-parts"])
    func unitTests(part: String) async throws {
        let tests = LayeringTests.root + "/contrib/\(part)/tests"
        let outcome = try await Shell.run(
            "python3", ["-B", "-W", "error", "-m", "unittest", "discover", "-s", tests],
            limit: .seconds(120))
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(outcome.errors.contains("OK"), "\(outcome.errors)")
    }
}
