extension String {
    /// Text of these scalars. The view of scalars of the standard library takes them one by one through tables of
    /// functions, and allocates for each; so would this do if it took any collection.
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
