import Base

/// A measure that could not be taken.
struct BenchError: DescribedError {
    let sentence: String
    var cause: (any Error)? { nil }

    init(_ sentence: String) { self.sentence = sentence }
}
