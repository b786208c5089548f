extension String {
    /// Creates text from scalars. Faster than `String.UnicodeScalarView`, which allocates per scalar; a
    /// generic collection would too.
    public init(scalars: ArraySlice<Unicode.Scalar>) {
        let length = scalars.reduce(0) { $0 + UTF8.width($1) }
        self.init(unsafeUninitializedCapacity: length) { buffer in
            var count = 0
            for scalar in scalars {
                if scalar.isASCII {
                    buffer[count] = UInt8(truncatingIfNeeded: scalar.value)
                    count += 1
                } else {
                    for byte in UTF8.encode(scalar)! {
                        buffer[count] = byte
                        count += 1
                    }
                }
            }
            return count
        }
    }
}
