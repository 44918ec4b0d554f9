set -e
W=/work/wt/recipe; M=/work/main/build/release
F="-std=c++20 -O0 -w -I$W -I$W/core/include -I$M/include -DDTRAIN_VERSION=\"0.1.0\" -DDTRAIN_BINARY=\"/work/main/build/release/bin/dtrain\" -DDTRAIN_COMPONENTS=\"/tmp/rcp/t/recipe_components.so\""
for f in "$@"; do o=$(echo $f | tr / _).o; nice ccache g++ $F -fPIC -c $W/$f -o $o; done
