import JSON

/// A part that was not archived, in the core's words, which may contain a name.
public struct APIArchiveProblem: Hashable, Sendable {
    /// nil if it is not about one file.
    public let file: String?
    public let sentence: String

    static func all(_ json: JSONValue) -> [APIArchiveProblem] {
        (json["archiveErrors"]?.elements ?? []).map { error in
            let words =
                (error["fileError"] ?? error["importError"])?.string ?? error.type ?? "no reason was given"
            return APIArchiveProblem(file: error["file"]?.string, sentence: String(words.prefix(500)))
        }
    }
}
