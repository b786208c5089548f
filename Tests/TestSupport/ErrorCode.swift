import Glibc

/// Returns the errno of a system call that returned a negative number, else 0.
///
/// An `#expect` that evaluates `errno` itself can see a later value: the testing library runs
/// between its operands.
public func errorCode(_ call: () -> Int32) -> Int32 { call() < 0 ? errno : 0 }
