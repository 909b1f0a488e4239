"""Write stages as LLVM's vector code."""
