/// Runs `body` and then `end`, also if `body` throws.
func concluding<Result>(
    with end: () async -> Void, _ body: () async throws -> Result
) async throws -> Result {
    let result: Result
    do {
        result = try await body()
    } catch {
        await end()
        throw error
    }
    await end()
    return result
}
