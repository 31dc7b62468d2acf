// build.rs - where libnosv is.  SPDX-License-Identifier: Apache-2.0
//
// NOSV_LIB_DIR names the folder of libnosv.so; without it the linker looks in its default folders.

fn main() {
    println!("cargo:rerun-if-env-changed=NOSV_LIB_DIR");
    println!("cargo:rustc-link-lib=dylib=nosv");
    if let Ok(dir) = std::env::var("NOSV_LIB_DIR") {
        println!("cargo:rustc-link-search=native={dir}");
        // The tests and examples of this package find the library there at run time too.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
        // Build scripts of packages that depend on this one read this as DEP_NOSV_LIB_DIR.
        println!("cargo:lib_dir={dir}");
    }
}
