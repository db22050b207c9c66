s/^import (/import (\n\t"context"/
s/diff\.DiffArray(/&context.TODO(), /
s/diff\.Diff(/&context.TODO(), /
